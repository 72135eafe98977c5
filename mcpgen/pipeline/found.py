"""Description of a parsed document for the user of `new`."""

from __future__ import annotations

from collections import Counter

from mcpgen.ir.api import SAFE_METHODS, SecurityScheme
from mcpgen.ir.findings import FoundDocument
from mcpgen.pipeline.parse import ParsedDocument


def describe_document(parsed: ParsedDocument) -> FoundDocument:
    """Return the facts about a parsed document."""
    document, api = parsed.document, parsed.api
    skipped = [each.operation.partition(" ")[0] for each in api.skipped]
    methods = [operation.method for operation in api.operations] + skipped
    tags = Counter(operation.tag for operation in api.operations)
    return FoundDocument(
        document.shown_as,
        api.title,
        api.version,
        document.version,
        sum(len(file.content) for file in document.files),
        len(document.files),
        len(methods),
        sum(method in SAFE_METHODS for method in methods),
        dict(sorted(tags.items(), key=lambda item: (-item[1], item[0]))),
        {scheme.id: describe_scheme(scheme) for scheme in api.security_schemes},
        tuple(dict.fromkeys(server.url for server in api.servers)),
    )


def describe_scheme(scheme: SecurityScheme) -> str:
    """Describe the kind of a security scheme in a few words."""
    if scheme.type == "apiKey":
        place = {"header": "header", "query": "query parameter"}.get(scheme.location, "cookie")
        return f"API key in the {place} `{scheme.name}`"
    if scheme.type == "http":
        return {"basic": "user name and password", "bearer": "bearer token"}.get(
            scheme.http_scheme, f"HTTP {scheme.http_scheme}"
        )
    if scheme.type == "oauth2":
        return f"OAuth 2 ({', '.join(sorted(scheme.flows))})" if scheme.flows else "OAuth 2"
    return {"openIdConnect": "OpenID Connect", "mutualTLS": "client certificate"}.get(
        scheme.type, scheme.type
    )

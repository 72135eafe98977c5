"""`credentials` of the manifest: the source of each security scheme's credential."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from mcpgen.contract.http_names import is_caller_header
from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.ir.api import Api, SecurityScheme
from mcpgen.ir.manifest import LocatedManifest, Manifest
from mcpgen.ir.manifest_entries import CredentialEntry, Tokens
from mcpgen.manifest.typed_file import TypedFile

_KEY: Final = "credentials"
_AUTHORIZATION: Final = "authorization"
_OWN_HEADER: Final = "name a header of its own: `header: X-Api-Token`"


def check_credentials(file: TypedFile[Manifest]) -> None:
    """Report entries that are wrong whatever the documents declare."""
    manifest = file.value
    if manifest.credentials and not manifest.sources and not manifest.tools:
        file.refuse(
            (_KEY,),
            f"`{_KEY}` without an API: `sources` and `tools` are empty",
            f"add a source, or remove `{_KEY}`",
        )
    # Keys for which callers have to be authorized, with a token in the header `Authorization`.
    authorizing = [
        name for name, entry in manifest.credentials.items() if entry.from_ in ("exchange", "user")
    ]
    authorizing += [_AUTHORIZATION] if file.stated.get(_AUTHORIZATION) else []
    for name, entry in manifest.credentials.items():
        _check_entry(file, name, entry, authorizing[0] if authorizing else "")


def _check_entry(
    file: TypedFile[Manifest], name: str, entry: CredentialEntry, authorizing: str
) -> None:
    at: Tokens = (_KEY, name, "header")
    if entry.from_ != "header":
        if entry.header:
            file.refuse(
                at, f"`header` without `from: header`: `{entry.header}` is not read", "remove it"
            )
    elif not entry.header:
        file.refuse((_KEY, name), "missing `header` beside `from: header`", _OWN_HEADER)
    elif not is_caller_header(entry.header):
        file.refuse(at, f"the header `{entry.header}` cannot carry a credential", _OWN_HEADER)
    elif entry.header.lower() == _AUTHORIZATION and authorizing:
        file.refuse(
            at,
            "`Authorization` has the token for this server, which is never passed on:"
            f" `{authorizing}` needs it",
            _OWN_HEADER,
        )


def with_credential_sources(api: Api, intent: LocatedManifest, problems: Problems) -> Api:
    """Apply the manifest's `credentials` to the security schemes of an API.

    Raises:
        RejectedError: a scheme is unknown, or cannot be used in this way.
    """
    entries = intent.manifest.credentials
    if not entries:
        return api
    known = {scheme.id: scheme for scheme in api.security_schemes}
    is_wrong = False
    for name, entry in entries.items():
        if name in known:
            fault, hint = _find_fault(known[name], entry), "use another source, or another scheme"
        else:
            shown = f"known schemes: {', '.join(f'`{each}`' for each in known)}"
            fault = f"unknown security scheme `{name}`"
            hint = did_you_mean(name, known, shown if known else "remove it")
        if fault:
            is_wrong = True
            problems.error(
                "credentials",
                fault,
                at=intent.locate((_KEY, name)),
                why="requests would be sent without the credential",
                help=hint,
            )
    if is_wrong:
        raise RejectedError
    return replace(
        api,
        security_schemes=tuple(
            replace(scheme, credential=entries.get(scheme.id, scheme.credential))
            for scheme in api.security_schemes
        ),
    )


def _find_fault(scheme: SecurityScheme, entry: CredentialEntry) -> str:
    """Return why a scheme cannot take its credential from this source; "" if it can."""
    is_oauth = scheme.type in ("oauth2", "openIdConnect")
    source = entry.from_
    if source == "header" and scheme.type == "mutualTLS":
        return "a client certificate cannot come from a header"
    if source == "exchange" and not is_oauth and scheme.http_scheme != "bearer":
        return f"`exchange` gets an access token, and `{scheme.id}` is not sent as a bearer token"
    if source == "user" and not has_user_flow(scheme):
        return (
            f"`{scheme.id}` has no flow for users: `authorizationCode`, `deviceAuthorization` or"
            " an `openIdConnectUrl`"
        )
    return ""


def has_user_flow(scheme: SecurityScheme) -> bool:
    """Whether a user can connect an account with this scheme (OAuth 2, OpenID Connect)."""
    if scheme.openid_connect_url:
        return True
    needed = {
        "authorizationCode": ("authorizationUrl", "tokenUrl"),
        "deviceAuthorization": ("deviceAuthorizationUrl", "tokenUrl"),
    }
    flows = scheme.flows
    return any(
        all(isinstance(flow := flows.get(name), dict) and flow.get(url) for url in urls)
        for name, urls in needed.items()
    )

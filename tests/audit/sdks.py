"""Expected findings of `mcpgen audit` on SDK servers, each verified against the specification.

Those over stdio were repeated by a script without the client of mcpgen, but for `prompts/get` of
`mcp` 2.3.0 in the revision without a handshake. Those over HTTP rest on the runs and on the logs of
the servers. The text that decides is that of JSON-RPC 2.0 and of the specification.
"""

from __future__ import annotations

from collections.abc import Mapping

BY_POSITION = (
    "`params: [1]` with a readable id: JSON-RPC 2.0, section 4.2, allows params by position, so the"
    " request is valid and must be answered; the SDK logs a validation error and sends nothing"
)
# By the name of the server: fault and experiment, and why it is one.
TRUE_FINDINGS: Mapping[str, Mapping[tuple[str, str], str]] = {
    "mcp 1.30.0": {("request-unanswered", "requests-params"): BY_POSITION},
    "mcp 2.3.0": {
        ("request-unanswered", "requests-params"): BY_POSITION,
        ("internal-error", "requests-wrong-calls"): (
            "`prompts/get` with an unknown name is answered with -32603; the specification names"
            " -32602 (Prompts, Error Handling)"
        ),
    },
    "fastmcp 4.1.6": {("request-unanswered", "requests-params"): BY_POSITION},
    "@modelcontextprotocol/sdk 1.32.2": {
        ("request-unanswered", "requests-params"): BY_POSITION,
        ("internal-error", "requests-wrong-calls"): (
            "`tools/call` whose `name` is a list and `resources/read` whose `uri` is a number are"
            " answered with -32603 and the issues of the schema library; JSON-RPC names -32602"
        ),
        ("internal-error", "arguments-no-object"): (
            "`tools/call` whose `arguments` are no object is answered with -32603 and the issues of"
            " the schema library; JSON-RPC names -32602"
        ),
    },
    "@modelcontextprotocol/server 2.3.1": {
        ("request-unanswered", "requests-params"): BY_POSITION,
        ("internal-error", "requests-wrong-calls"): (
            "`resources/read` whose `uri` is a number is answered with -32603, not -32602"
        ),
    },
}

OVER_HTTP: Mapping[str, Mapping[tuple[str, str], str]] = {
    "mcp 1.30.0": {
        ("internal-error", "frames-binary"): (
            "a body that is not UTF-8 is answered with HTTP 500 and -32603; it is not JSON, for"
            " which JSON-RPC names -32700"
        ),
    },
    "mcp 2.3.0": {
        ("internal-error", "requests-wrong-calls"): (
            "`prompts/get` with an unknown name, as over stdio"
        ),
    },
    "fastmcp 4.1.6": {},
}

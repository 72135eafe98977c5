"""Lower bound over HTTP: uvicorn answers every POST with the same bytes: `… TOOLS PORT`."""

import sys

import uvicorn

ANSWER = (
    b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ababab"}],'
    b'"resultType":"complete"}}'
)
HEAD = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-length", b"%d" % len(ANSWER)),
        (b"content-type", b"application/json"),
    ],
}
BODY = {"type": "http.response.body", "body": ANSWER}


async def app(scope, receive, send):
    """Read the body without parsing it, and send the fixed response."""
    while (await receive()).get("more_body"):
        pass
    await send(HEAD)
    await send(BODY)


uvicorn.run(
    app,
    host="127.0.0.1",
    port=int(sys.argv[2]),
    log_level="error",
    access_log=False,
    lifespan="off",
)

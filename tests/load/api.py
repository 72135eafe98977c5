"""API of a load run: returns the identifier of each request and a hash of its credential.

The credential itself would be hidden in the result.

`python -m tests.load.api PORT`
"""

from __future__ import annotations

import hashlib
import sys

from aiohttp import web

from tests.support.attack.documents import HEALTHY_PATH

KEY_HEADER = "X-Api-Key"


async def _answer(request: web.Request) -> web.Response:
    key = hash_key(request.headers.get(KEY_HEADER, ""))
    return web.json_response({"id": request.match_info["id"], "key": key})


def hash_key(key: str) -> str:
    """Return the hash of a credential that the API reports."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def main() -> None:
    """Serve until the process is killed."""
    app = web.Application()
    app.router.add_get(f"{HEALTHY_PATH}{{id}}", _answer)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)


if __name__ == "__main__":
    main()

"""The generated server of things.json: `own_proxy.py FOLDER TOOLS [PORT]`."""

import sys

sys.path.insert(0, f"{sys.argv[1]}/things-mcp/src")

from mcpgen.runtime.serving import serve

if __name__ == "__main__":
    sys.exit(serve("things_mcp", ["--http", "--port", sys.argv[3]] if len(sys.argv) > 3 else []))

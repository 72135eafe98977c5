"""A generated server, over stdio or HTTP: `own.py FOLDER TOOLS [PORT]`."""

import sys

sys.path.insert(0, f"{sys.argv[1]}/tools-{sys.argv[2]}")

from mcpgen.runtime.serving import serve

if __name__ == "__main__":
    sys.exit(serve("bench_mcp", ["--http", "--port", sys.argv[3]] if len(sys.argv) > 3 else []))

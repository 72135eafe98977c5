"""Run a server of the tests over stdio: `python run.py MODULE CLASS`.

A script, so that `python -I -S` starts it without the modules of any environment.
"""

import importlib
import sys

sys.path.insert(0, __file__.rsplit("/", 4)[0])  # importing pathlib would double the time

from tests.validate.servers.stdio import StdioLoop

if __name__ == "__main__":
    module, name = sys.argv[1:3]
    server = getattr(importlib.import_module(module), name)()
    getattr(server, "loop_class", StdioLoop)(server).run()

"""The command `mcpgen`: the generator's command line, or one line on how to install it."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import NoReturn


def main() -> int:
    """Run the command line of the `cli` extra and return its exit code.

    A base install is the runtime of generated servers; there the command prints how to get the
    rest.
    """
    import importlib.util

    if importlib.util.find_spec("typer") is None:
        sys.stderr.write(
            "mcpgen: this is the runtime alone; pip install 'mcpgen[cli]' adds the generator\n"
        )
        return 2

    from mcpgen.cli.app import run

    return run(sys.argv[1:])


def run_process() -> NoReturn:
    """Run `mcpgen` as a command: do not return, but end the process with the exit code."""
    codes: list[int] = []
    atexit.register(_end_at_once, codes)  # the first to be registered is called last
    codes.append(main())
    sys.exit(codes[0])


def _end_at_once(codes: list[int]) -> None:
    """End the process with its exit code; Python would free all objects first, for 30 to 50 ms."""
    with contextlib.suppress(OSError):  # Python repeats it, and reports the error
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        for code in codes:  # none after an exception
            os._exit(code)


if __name__ == "__main__":
    run_process()

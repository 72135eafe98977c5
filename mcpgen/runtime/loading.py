"""`python -m mcpgen.runtime.loading PACKAGE`: load a server as its start does, and report failure.

One JSON object goes to stdout: `{}` if the server can start. What its modules print goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.log import place_of_error
from mcpgen.runtime.package import ServerPackage


def find_failure(package: str) -> dict[str, str]:
    """Load a package and describe what stops its start, or return {}.

    `text` is the error message with its place in front: "FILE:LINE: TEXT". `module` names a module
    that is not installed, `setting` a variable that is not in the environment.
    """
    try:
        ServerPackage.load(package).load_hot({})
    except ConfigurationError as error:
        return {"text": str(error), **_missing(error.__cause__)}
    except BaseException as error:  # noqa: BLE001  (the boundary: a module may raise anything)
        path, line = place_of_error(error)
        return {"text": f"{path}:{line}: {type(error).__name__}: {error}", **_missing(error)}
    return {}


def _missing(error: BaseException | None) -> dict[str, str]:
    """Return what the environment lacks, if that is the cause."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return {"module": error.name}
    step = error.__traceback__ if error is not None else None
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    is_lookup = step is not None and step.tb_frame.f_locals.get("self") is os.environ
    return {"setting": str(error.args[0])} if isinstance(error, KeyError) and is_lookup else {}


def main() -> None:
    """Report on the package that is named on the command line."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    failure = find_failure(sys.argv[1])
    os.write(stdout, json.dumps(failure).encode())
    os._exit(0)  # threads that a module started would keep the process


if __name__ == "__main__":
    main()

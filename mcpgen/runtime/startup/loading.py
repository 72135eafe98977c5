"""Load test of a server package: `python -m mcpgen.runtime.startup.loading PACKAGE`.

It prints one JSON object to stdout: `{}` if the server can start, else `find_failure`'s result.
Output of the package's modules goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.process.log import locate_error


def find_failure(package: str) -> dict[str, str]:
    """Load a package; describe the error that prevents its start, or return {}.

    `text` is the error message with its location: "FILE:LINE: TEXT". `module` names a module that
    is not installed, `setting` a missing environment variable.
    """
    try:
        ServerPackage.load(package).load_hot({})
    except ConfigurationError as error:
        return {"text": str(error), **_find_missing(error.__cause__)}
    except BaseException as error:  # noqa: BLE001  (the boundary: a module may raise anything)
        path, line = locate_error(error)
        return {"text": f"{path}:{line}: {type(error).__name__}: {error}", **_find_missing(error)}
    return {}


def _find_missing(error: BaseException | None) -> dict[str, str]:
    """Return the missing module or environment variable that caused the error, if any."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return {"module": error.name}
    step = error.__traceback__ if error is not None else None
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    is_lookup = step is not None and step.tb_frame.f_locals.get("self") is os.environ
    return {"setting": str(error.args[0])} if isinstance(error, KeyError) and is_lookup else {}


def main() -> None:
    """Report on the package named on the command line."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    failure = find_failure(sys.argv[1])
    os.write(stdout, json.dumps(failure).encode())
    os._exit(0)  # threads that a module started would keep the process alive


if __name__ == "__main__":
    main()

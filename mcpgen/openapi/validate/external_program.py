"""Child process that runs openapi-spec-validator: a document on stdin, findings on stdout.

It is started by path in an isolated interpreter and does not import mcpgen. The validator would
open files and connect to hosts that a document names; after all imports, an audit hook forbids
both.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import sys
import time

_MAX_FINDINGS = 20
_MAX_MESSAGE = 160
_MEMORY_BYTES = 1024 * 1024 * 1024
_FORBIDDEN = ("open", "socket.", "os.", "subprocess.", "urllib.", "shutil.", "ctypes.", "ftplib.")
# Documents that make the validator of each version import all its modules.
_WARM_UP = {
    "swagger": {"swagger": "2.0", "info": {"title": "", "version": ""}, "paths": {}},
    "openapi": {"openapi": "", "info": {"title": "", "version": ""}, "paths": {}},
}


def main() -> None:
    """Validate the document on stdin; write `{"findings": [...]}` or `{"stopped": EXCEPTION}`.

    After `sys.argv[1]` seconds, `faulthandler` writes "Timeout" to stderr and ends the process.
    """
    gc.set_threshold(100_000)  # imports create many objects and no garbage
    import openapi_spec_validator  # noqa: F401 - its import does not count

    seconds = int(sys.argv[1])
    faulthandler.dump_traceback_later(seconds, exit=True)
    answer: dict[str, object]
    try:
        answer = {"findings": _findings(json.load(sys.stdin), seconds)}
    except Exception as error:  # noqa: BLE001  (any exception of the validator is reported by name)
        answer = {"stopped": type(error).__name__}
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(json.dumps(answer))


def _findings(document: dict[str, object], seconds: int) -> list[dict[str, object]]:
    from openapi_spec_validator import OpenAPIV2SpecValidator
    from openapi_spec_validator.shortcuts import get_validator_cls

    _limit_resources(seconds)
    validator = get_validator_cls(document)
    key = "swagger" if validator is OpenAPIV2SpecValidator else "openapi"
    warm_up = {**_WARM_UP[key], key: document[key], "paths": _one_path(key)}
    list(validator(warm_up).iter_errors())
    sys.addaudithook(_forbid)
    findings: list[dict[str, object]] = []
    for error in validator(document).iter_errors():
        place = [str(token) for token in getattr(error, "absolute_path", None) or ()]
        # The text after an empty line repeats the rule and the whole value.
        message = str(getattr(error, "message", error)).partition("\n\n")[0]
        if len(message) > _MAX_MESSAGE:
            # It begins with the value, and ends with the fault.
            message = "…" + message[-_MAX_MESSAGE:]
        findings.append({"tokens": place, "message": message})
        if len(findings) == _MAX_FINDINGS:
            break
    return findings


def _one_path(key: str) -> dict[str, object]:
    """Return a path with a default, so that the validator of values is imported as well."""
    schema = {"type": "string", "default": "a", "format": "date-time"}
    parameter = {"name": "a", "in": "query", **(schema if key == "swagger" else {"schema": schema})}
    responses = {"200": {"description": ""}}
    return {"/a": {"get": {"parameters": [parameter], "responses": responses}}}


def _limit_resources(seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows: the parent's time limit remains
        return
    for kind, bound in (
        ("RLIMIT_AS", _MEMORY_BYTES),
        ("RLIMIT_CPU", int(time.process_time()) + seconds + 2),
        ("RLIMIT_CORE", 0),
    ):
        # It may not exist here, or a stricter one applies already.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, kind), (bound, bound))


def _forbid(event: str, _arguments: tuple[object, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"{event} while validating a document")


if __name__ == "__main__":
    main()

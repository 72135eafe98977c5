"""Child process that runs openapi-spec-validator: documents on stdin, findings on stdout.

It is started by path in an isolated interpreter and does not import mcpgen. The validator would
open files and connect to hosts that a document names; after all imports, an audit hook forbids
both.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
import zlib

_MAX_FINDINGS = 20
_MAX_MESSAGE = 160
_TOO_SLOW: dict[str, object] = {"too_slow": True}
_MEMORY_BYTES = 1024 * 1024 * 1024
_FORBIDDEN = ("open", "socket.", "os.", "subprocess.", "urllib.", "shutil.", "ctypes.", "ftplib.")
# Documents that make the validator of each version import all its modules.
_WARM_UP = {
    "swagger": {"swagger": "2.0", "info": {"title": "", "version": ""}, "paths": {}},
    "openapi": {"openapi": "", "info": {"title": "", "version": ""}, "paths": {}},
}


def main() -> None:
    """Validate documents until stdin ends; write a line of JSON for each.

    A document is a line with its number of bytes, followed by these bytes, compressed so that they
    fit into a pipe. An answer has `findings`, or `stopped` with the name of an exception, or
    `too_slow`; the time starts when the document has been read. Each document is validated in a
    fork of this process, isolated from the others. Without fork, the process ends after one.
    """
    import openapi_spec_validator  # noqa: F401 - once, for all documents

    seconds = int(sys.argv[1])
    while announced := sys.stdin.buffer.readline():
        data = zlib.decompress(sys.stdin.buffer.read(int(announced)))
        if not hasattr(os, "fork"):
            _validate_here(data, seconds)
            return
        _print(_validate_in_fork(data, seconds))


def _print(answer: dict[str, object]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def _validate_here(data: bytes, seconds: int) -> None:
    """Validate in this process, which ends after `seconds` at the latest."""

    def give_up() -> None:
        _print(_TOO_SLOW)
        os._exit(0)

    timer = threading.Timer(seconds, give_up)
    timer.start()
    answer = _answer(data, seconds)
    timer.cancel()
    _print(answer)


def _validate_in_fork(data: bytes, seconds: int) -> dict[str, object]:
    """Validate in a fork, so that a crash does not end this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            with os.fdopen(writing, "w", encoding="utf-8") as out:
                json.dump(_answer(data, seconds), out)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        result = _read_in_time(answer.fileno(), seconds)
    if result is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if result is None:
        return _TOO_SLOW
    if status:
        return {"stopped": f"status {os.waitstatus_to_exitcode(status)}"}
    found: dict[str, object] = json.loads(result)
    return found


def _read_in_time(answer: int, seconds: int) -> bytes | None:
    """Read to the end; return None after `seconds`, or if the requesting process has ended."""
    deadline = time.monotonic() + seconds
    data = bytearray()
    while True:
        left = max(0.0, deadline - time.monotonic())
        # The next request follows this answer, so stdin is ready only at its end.
        ready, _, _ = select.select([answer, sys.stdin], [], [], left)
        if answer not in ready:
            return None
        chunk = os.read(answer, 65536)
        if not chunk:
            return bytes(data)
        data += chunk


def _answer(data: bytes, seconds: int) -> dict[str, object]:
    try:
        return {"findings": _findings(json.loads(data), seconds)}
    except Exception as error:  # noqa: BLE001  (any exception of the validator is reported by name)
        return {"stopped": type(error).__name__}


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
        ("RLIMIT_CPU", seconds + 1),
        ("RLIMIT_CORE", 0),
    ):
        limit = getattr(resource, kind, None)
        if limit is None:
            continue
        try:
            resource.setrlimit(limit, (bound, bound))
        except (ValueError, OSError):
            continue  # a stricter limit applies already


def _forbid(event: str, _arguments: tuple[object, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"{event} while validating a document")


if __name__ == "__main__":
    main()

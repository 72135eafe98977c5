"""openapi-spec-validator, run as a program of its own: document on stdin, verdict on stdout.

It is started by path in an isolated interpreter, so it imports nothing of mcpgen. The validator
opens files and connects to hosts that a document names; once everything is imported, an audit hook
forbids both, whatever the document says.
"""

from __future__ import annotations

import json
import sys

_MAX_FINDINGS = 20
_MAX_MESSAGE = 160
_MEMORY_BYTES = 1024 * 1024 * 1024
_FORBIDDEN = ("open", "socket.", "os.", "subprocess.", "urllib.", "shutil.", "ctypes.", "ftplib.")
# What each version's validator must see to import all that it will need.
_WARM_UP = {
    "swagger": {"swagger": "2.0", "info": {"title": "", "version": ""}, "paths": {}},
    "openapi": {"openapi": "", "info": {"title": "", "version": ""}, "paths": {}},
}


def main() -> None:
    """Judge the document on stdin; write its findings as a JSON array of objects."""
    data = sys.stdin.buffer.read()
    document = json.loads(data)
    _limit_resources(int(sys.argv[1]))
    from openapi_spec_validator import OpenAPIV2SpecValidator
    from openapi_spec_validator.shortcuts import get_validator_cls

    validator = get_validator_cls(document)
    key = "swagger" if validator is OpenAPIV2SpecValidator else "openapi"
    warm_up = {**_WARM_UP[key], key: document[key], "paths": _one_path(key)}
    list(validator(warm_up).iter_errors())
    sys.addaudithook(_forbid)
    findings = []
    for error in validator(document).iter_errors():
        place = [str(token) for token in getattr(error, "absolute_path", None) or ()]
        # What follows an empty line repeats the rule and the whole value.
        message = str(getattr(error, "message", error)).partition("\n\n")[0]
        if (
            len(message) > _MAX_MESSAGE
        ):  # it begins with the value, and ends with what is wrong with it
            message = "…" + message[-_MAX_MESSAGE:]
        findings.append({"tokens": place, "message": message})
        if len(findings) == _MAX_FINDINGS:
            break
    json.dump(findings, sys.stdout)


def _one_path(key: str) -> dict[str, object]:
    """A parameter with a default, so that the validator of values is imported as well."""
    schema = {"type": "string", "default": "a", "format": "date-time"}
    parameter = {"name": "a", "in": "query", **(schema if key == "swagger" else {"schema": schema})}
    responses = {"200": {"description": ""}}
    return {"/a": {"get": {"parameters": [parameter], "responses": responses}}}


def _limit_resources(seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows: the parent's time limit remains
        return
    for kind, bound in (("RLIMIT_AS", _MEMORY_BYTES), ("RLIMIT_CPU", seconds), ("RLIMIT_CORE", 0)):
        limit = getattr(resource, kind, None)
        if limit is None:
            continue
        try:
            resource.setrlimit(limit, (bound, bound))
        except (ValueError, OSError):
            continue  # a stricter limit is in force already


def _forbid(event: str, _arguments: tuple[object, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"{event} while judging a document")


if __name__ == "__main__":
    main()

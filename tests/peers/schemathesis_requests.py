"""Schemathesis as a judge: the requests it makes of given arguments, one JSON object per line.

Runs in Schemathesis' own environment. Each line of stdin is {"document": ..., "calls": [...]}, as
`tests/corpus/calls.py` writes them; each line of stdout has the request of each call.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any
from urllib.parse import quote

import requests
import schemathesis

BASE_URL = "https://judged.example"
PLACES = {
    "path": "path_parameters",
    "query": "query",
    "header": "headers",
    "cookie": "cookies",
    "querystring": "query",
}


def request_of(schema: Any, call: dict[str, Any]) -> dict[str, Any]:
    """Return the request of one call, with values serialized like those that it generates."""
    method, _, path = call["operation"].partition(" ")
    operation = schema[path][method]
    given: dict[str, Any] = {}
    for location, values in call["values"].items():
        serialise = operation.get_parameter_serializer(location)
        spelled = dict(values) if serialise is None else serialise(dict(values))
        if location == "path":
            spelled = {name: format_path(value) for name, value in spelled.items()}
        if location == "query":
            spelled = {name: query_value(value) for name, value in spelled.items()}
        if location == "header":
            spelled = {name: text(value) for name, value in spelled.items()}
        given.setdefault(PLACES[location], {}).update(spelled)
    if "body" in call:
        given |= {"body": call["body"], "media_type": call["content_type"]}
    case = operation.Case(**given)
    prepared = requests.Request(**case.as_transport_kwargs(base_url=BASE_URL)).prepare()
    body = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body
    return {
        "method": prepared.method,
        "url": prepared.url,
        "headers": [[name, value] for name, value in prepared.headers.items()],
        "body": None if body is None else base64.b64encode(bytes(body)).decode(),
    }


def format_path(value: Any) -> Any:
    """Percent-encode values without an encoding, as Schemathesis does when it generates."""
    if isinstance(value, bool | int | float | None):
        return text(value)
    return value if not isinstance(value, str) or hasattr(value, "encoded") else quote(value, "")


def query_value(value: Any) -> Any:
    """Return booleans and null in their JSON form, as Schemathesis does when it generates."""
    if isinstance(value, list):
        return [query_value(item) for item in value]
    return value if isinstance(value, str | dict) else text(value)


def text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def main() -> None:
    for line in sys.stdin:
        work = json.loads(line)
        made = []
        try:
            schema = schemathesis.openapi.from_dict(work["document"])
        except Exception as error:  # noqa: BLE001  (a judge may fail in any way; that is told)
            made = [{"failed": f"{type(error).__name__}: {error}"}] * len(work["calls"])
        else:
            for call in work["calls"]:
                try:
                    made.append(request_of(schema, call))
                except Exception as error:  # noqa: BLE001  (as above)
                    made.append({"failed": f"{type(error).__name__}: {str(error)[:200]}"})
        print(json.dumps(made), flush=True)


if __name__ == "__main__":
    main()

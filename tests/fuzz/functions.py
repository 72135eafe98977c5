"""Fuzz target: functions that process untrusted bytes first, called in this process."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import time
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Self

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.jsonschema.patterns import TooHardError, iterate_matching_texts
from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.openapi.source.source_file import read_source_file
from mcpgen.openapi.source.source_text import DEFAULT_LIMITS
from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.media import Media
from mcpgen.runtime.state.request_state import KeyRingCipher
from mcpgen.runtime.transports.http.reply_stream import parse_event_id
from mcpgen.runtime.transports.json_input import UndecodableError, decode_cold, make_hot_decoder
from mcpgen.runtime.transports.stdio.pipe import LineBuffer, TruncatedLine
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.request.multipart import encode_members
from mcpgen.runtime.upstream.request.parameters import UnsendableError
from mcpgen.runtime.upstream.resilience import parse_retry_after
from mcpgen.runtime.upstream.response.redaction import Redactor, visible
from mcpgen.runtime.upstream.response.results import decode_response
from mcpgen.runtime.upstream.response.streams import parse_stream
from mcpgen.text.json_pointer import pointer_tokens
from mcpgen.text.uri_template import UriTemplate
from tests.fuzz.cases import Case, FaultError
from tests.fuzz.mutations import hostile_text, json_scalar, mutate_bytes, mutate_json
from tests.support.attack.server import resident_bytes
from tests.support.protocol_client import MODERN, Peer

_SECRET = "S3cret-canary-of-the-fuzzer"
_REDACTOR = Redactor((_SECRET,))
_MEDIA_TYPES = (
    "application/json", "application/json; charset=utf-16", "text/plain; charset=latin-1",
    "text/plain; charset=punycode", "text/event-stream", "application/x-ndjson", "application/xml",
    "application/json-seq", "image/png", "multipart/mixed; boundary=a", "",
    "application/problem+json",
    "text/html;charset=\"utf-7\"",
)  # fmt: skip
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
        "kind": {"enum": ["cat", "dog", None]},
        "when": {"type": "string", "format": "date-time"},
        "filter": {"$ref": "#/$defs/filter"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 3},
    },
    "$defs": {
        "filter": {
            "anyOf": [
                {"type": "object", "required": ["and"],
                 "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}},
                {"type": "object", "required": ["not"],
                 "properties": {"not": {"$ref": "#/$defs/filter"}}},
                {"type": "object", "required": ["field"],
                 "properties": {"field": {"type": "string"}},
                 "additionalProperties": False},
            ]
        }
    },
}  # fmt: skip
_VALIDATOR = SchemaValidator(_SCHEMA)
_SAMPLE = {
    "id": 1,
    "name": "rex",
    "kind": "cat",
    "filter": {"and": [{"not": {"field": "a"}}, {"field": "b"}]},
    "tags": ["a", "b"],
}
_MESSAGE = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "a", "arguments": _SAMPLE, "_meta": {"progressToken": 1}},
}
_decode_hot = make_hot_decoder()
_SEALER = KeyRingCipher((b"k" * 32,))
_CALL = Peer(MODERN).call("tools/call", name="a")


def _decode_message(data: bytes) -> str:
    outcomes = []
    for decode in (_decode_hot, decode_cold):
        try:
            outcomes.append(("value", decode(data)))
        except UndecodableError as error:
            outcomes.append(("error", error.code))
    (kind, hot), (other, cold) = outcomes
    # Either of two errors of one message may be found first.
    if kind != other or (kind == "value" and json.dumps(hot) != json.dumps(cold)):
        raise FaultError(f"the decoders disagree: {str(hot)[:100]} and {str(cold)[:100]}")
    return f"{kind} {hot if kind == 'error' else type(hot).__name__}"


def _split_lines(data: bytes) -> str:
    lines = _lines(data, 500)  # reads are shorter than the bound
    if lines != _lines(data, 7):
        raise FaultError("lines depend on how the bytes were split")
    return str({type(line).__name__ for line in lines})


def _lines(data: bytes, size: int) -> list[bytes | None]:
    """Split data that is read in pieces of `size` into lines; None stands for an overlong line."""
    buffer = LineBuffer(1000)
    lines = [line for at in range(0, len(data), size) for line in buffer.feed(data[at : at + size])]
    return [None if isinstance(line, TruncatedLine) else line for line in lines + buffer.finish()]


def _decode_api_response(data: bytes) -> str:
    head, _, body = data.partition(b"\n")
    response = HttpResponse(200, (("Content-Type", head.decode("latin-1")),), body)
    try:
        value = decode_response(response, ("application/json", "text/*"), _REDACTOR)
    except UpstreamError as error:
        if _SECRET in str(error):
            raise FaultError("an error message contains the secret") from None
        return re.sub(r"`.*`|It begins.*|\d+", "", str(error))[:60]
    return "media" if isinstance(value, Media) else type(value).__name__


def _redact(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    text = text + _SECRET + text[: len(text) // 2]
    shown, count = visible(_REDACTOR.clean(text))
    excerpt = _REDACTOR.excerpt(text)
    if _SECRET in shown or _SECRET in excerpt:
        raise FaultError("a secret is not masked")
    if any(unicodedata.category(character) == "Cc" for character in excerpt):
        raise FaultError(f"an excerpt has a control character: {excerpt[:50]!r}")
    return f"{min(count, 3)} {len(shown) < len(text)}"


def _read_stream(data: bytes) -> str:
    kind, _, text = data.decode("utf-8", "replace").partition("\n")
    items = parse_stream(kind, text, is_cut_off=len(text) % 2 == 1)
    return f"{min(len(items), 5)} {sorted({type(item).__name__ for item in items})}"


def _read_retry_after(data: bytes) -> str:
    response = HttpResponse(503, (("Retry-After", data.decode("latin-1")),))
    seconds = parse_retry_after(response, datetime(2026, 1, 1, tzinfo=UTC))
    if seconds is not None and not seconds >= 0:
        raise FaultError(f"Retry-After of {seconds}")
    return "none" if seconds is None else f"1e{len(str(int(min(seconds, 1e300))))}"


def _use_uri_template(data: bytes) -> str:
    template, _, uri = data.decode("utf-8", "replace").partition("\n")
    try:
        parsed = UriTemplate(template)
    except ValueError:
        return "invalid"
    expanded = parsed.expand(dict.fromkeys(parsed.variables, uri[:50]))
    try:
        return f"{len(parsed.variables)} {parsed.match(uri)} {parsed.match(expanded) is None}"[:60]
    except ValueError:  # some templates can be expanded but not matched
        return f"{len(parsed.variables)} unmatchable"


def _parse_event_id(data: bytes) -> str:
    return type(parse_event_id(data.decode("latin-1"))).__name__


def _validate(data: bytes) -> str:
    try:
        value = decode_cold(data)
    except UndecodableError:
        return "no JSON"
    problems = _VALIDATOR.problems(value)
    if any(len(problem) > 2000 for problem in problems):
        raise FaultError(f"a message of {max(map(len, problems))} characters")
    return re.sub(r"\d+", "0", str([problem[:30] for problem in problems[:2]]))


def _write_multipart(data: bytes) -> str:
    try:
        encode_members(decode_cold(data), {}, None, _no_files)
    except UndecodableError:
        return "no JSON"
    except UnsendableError as error:
        return str(error)[:30]
    return "sent"


def _no_files(*_: Any) -> Any:
    raise UnsendableError("has no file")


def _match_pattern(data: bytes) -> str:
    try:
        texts = list(iterate_matching_texts(data.decode("utf-8", "replace")))
    except TooHardError as error:
        return str(error)[:40]
    if any(len(text) > 300 for text in texts):
        raise FaultError("a sample is too long")
    return f"{min(len(texts), 5)}"


def _load_document(data: bytes) -> str:
    problems = Problems()
    try:
        read_source_file(data, "document.yaml", problems, DEFAULT_LIMITS)
    except RejectedError:
        return str(sorted({problem.code for problem in problems}))
    return "read"


def _open_sealed(data: bytes) -> str:
    try:
        _SEALER.open(data.decode("utf-8", "replace"), _CALL)
    except ProtocolError as error:
        return str(error)[:40]
    raise FaultError("state that was not sealed here was accepted")


def _split_pointer(data: bytes) -> str:
    try:
        return f"{min(len(pointer_tokens(data.decode('utf-8', 'replace'))), 5)}"
    except ValueError:
        return "invalid"


_SEEDS: dict[str, tuple[Callable[[bytes], str], tuple[bytes, ...]]] = {
    "message": (_decode_message, (json.dumps(_MESSAGE).encode(), b"[{}]", b'{"id":1,"id":2}')),
    "lines": (_split_lines, (b"{}\n\r\n[]\r\r\nabc\n", b"x" * 2500 + b"\n{}\n")),
    "response": (
        _decode_api_response,
        tuple(f"{kind}\n{json.dumps(_SAMPLE)}".encode() for kind in _MEDIA_TYPES),
    ),
    "redaction": (_redact, (b"Bearer abc.def.ghi key=sk-123456789012345678901234", b"\x1b[1mx")),
    "stream": (
        _read_stream,
        (
            b'text/event-stream\nevent: a\ndata: {"x":1}\n\n: note\ndata: b\nid: 3\n\n',
            b'application/x-ndjson\n{"a":1}\n[2]\nx\n',
            b"application/json-seq\n\x1e{}\n\x1e1\n",
        ),
    ),
    "retry-after": (_read_retry_after, (b"120", b"Fri, 31 Dec 2027 23:59:59 GMT", b"-1", b"1e9")),
    "uri-template": (
        _use_uri_template,
        (b"a://{b}/c{?d,e}\na://x/c?d=1&e=2", b"f:///{+path}/x{.y}\nf:///a/b/x.y", b"{/a*}\n/b"),
    ),
    "event-id": (_parse_event_id, (b"stream-12", b"-", b"a-999999999999999999")),
    "validation": (_validate, (json.dumps(_SAMPLE).encode(), b'{"filter":{"and":[{"not":{}}]}}')),
    "multipart": (_write_multipart, (json.dumps(_SAMPLE).encode(), b"[]", b'{"a\\r\\nb":"c"}')),
    "pattern": (_match_pattern, (rb"^[a-z]{2,5}(-\d+)?$", rb"(a|b)*\p{L}\u0041", rb"[^\w\s]+?$")),
    "document": (
        _load_document,
        (b"openapi: 3.1.0\ninfo: {title: a}\npaths: {}\n", b"a: &a [1]\nb: *a\n", b"{}"),
    ),
    "sealed": (_open_sealed, (b"AAAA" * 20, b"", b"=")),
    "pointer": (_split_pointer, (b"/a~1b/0", b"")),
}  # fmt: skip


class Functions:
    """Target that calls decoders, parsers and renderers with changed inputs."""

    name = "functions"
    slow_seconds = 1.0
    clock = staticmethod(time.process_time)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def generate(self, chance: random.Random) -> Case:
        name = chance.choice(sorted(_SEEDS))
        seed = chance.choice(_SEEDS[name][1])
        if chance.random() < 0.1:
            seed += json.dumps(json_scalar(chance)).encode() + hostile_text(chance).encode()
        return self.mutate(Case(self.name, (name.encode(), seed)), chance)

    def mutate(self, case: Case, chance: random.Random) -> Case:
        name, data = case.parts
        if chance.random() < 0.5 and len(data) < 100_000:
            try:
                changed = json.dumps(mutate_json(json.loads(data), chance)).encode()
            except (ValueError, RecursionError):
                changed = mutate_bytes(data, chance)
        else:
            changed = mutate_bytes(data, chance)
        return Case(self.name, (name, changed[:200_000]))

    def run(self, case: Case) -> str:
        name = case.parts[0].decode()
        return f"{name} {_SEEDS[name][0](case.parts[1])}"

    def settle(self) -> None:
        gc.collect()

    def resident_bytes(self) -> dict[str, int]:
        return {"fuzzer": resident_bytes(os.getpid())}

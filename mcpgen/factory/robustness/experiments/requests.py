"""Messages that are JSON and break the rules of JSON-RPC or MCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcpgen.factory.robustness.experiments.frames import make_harmless
from mcpgen.factory.robustness.experiments.kinds import Experiment, SkippedError
from mcpgen.factory.robustness.subject import Subject, Variant
from mcpgen.jsonschema.types import JsonObject

_IDS: Final[tuple[Any, ...]] = (
    0, -1, 2**53, 2**64, 10**300, 1.5, 1e300, None, True, "", " ", "é\U0001f600", "\x00",
    "x" * 5000, [], [1], {}, {"id": 1}, "__proto__",
)  # fmt: skip
_PLAIN_METHODS: Final = (
    "mcpgen/unknown", "TOOLS/LIST", "tools/list/", "rpc.discover", "__proto__", "constructor",
    "toString", "x" * 2000, "..", "tools/call; ls",
)  # fmt: skip
_ODD_METHODS: Final = ("", " ", "\x00", "tools/list\x00", "mé\U0001f600", "\u202e")
_BAD_PARAMS: Final[tuple[Any, ...]] = ([], [1], [[]], "text", 7, True, None, [{"name": 1}])
_CURSORS: Final[tuple[Any, ...]] = (
    7,
    {"a": 1},
    [],
    True,
    "x" * 5000,
    "\x00",
    "-1",
    "99999999999999",
)


async def _send_ids(subject: Subject) -> list[Variant]:
    base = await make_harmless(subject)
    return [Variant(f"id = {_shorten(it)}", {**base, "id": it}) for it in _IDS]


async def _send_methods(subject: Subject) -> list[Variant]:
    base = await make_harmless(subject)
    session = await subject.get_session()
    plain = [
        Variant(
            f"method = {_shorten(it)}",
            {**base, "method": it, "id": session.next_id()},
            must_answer=True,
        )
        for it in _PLAIN_METHODS
    ]
    odd = [
        Variant(f"method = {_shorten(it)}", {**base, "method": it, "id": session.next_id()})
        for it in _ODD_METHODS
    ]
    return [*plain, *odd]


async def _send_params(subject: Subject) -> list[Variant]:
    base = await make_harmless(subject)
    session = await subject.get_session()
    return [
        Variant(
            f"params = {_shorten(it)}",
            {**base, "params": it, "id": session.next_id()},
            headers_of=base,
            must_answer=it == [1],  # by position, as JSON-RPC allows
        )
        for it in _BAD_PARAMS
    ]


async def _send_envelopes(subject: Subject) -> list[Variant]:
    base = await make_harmless(subject)
    rest = {key: value for key, value in base.items() if key != "jsonrpc"}
    result: JsonObject = {"jsonrpc": "2.0", "id": "mcpgen-nobody", "result": {}}
    error = {"code": -32000, "message": "mcpgen"}
    messages: Sequence[tuple[str, Any]] = (
        ("no `jsonrpc`", rest),
        ("`jsonrpc` 1.0", {**rest, "jsonrpc": "1.0"}),
        ("`jsonrpc` as a number", {**rest, "jsonrpc": 2.0}),
        ("`method` as a number", {**base, "method": 7}),
        ("`method` null", {**base, "method": None}),
        ("`method` as an object", {**base, "method": {"name": "ping"}}),
        ("a response to nothing", result),
        ("an error response to nothing", {"jsonrpc": "2.0", "id": 7, "error": error}),
        ("a response without an id", {"jsonrpc": "2.0", "result": {}}),
        ("a response whose error is a text", {"jsonrpc": "2.0", "id": 7, "error": "text"}),
        ("a request that is a response, too", {**base, "result": {}}),
        ("a notification with params of a wrong type", _notify([1])),
        ("an unknown notification", _notify({"mcpgen": {"a": [1, {"b": None}]}})),
        ("only an id", {"jsonrpc": "2.0", "id": 7}),
        ("only a version", {"jsonrpc": "2.0"}),
        ("a thousand unknown members", {**base, **{f"mcpgen{n}": n for n in range(1000)}}),
    )
    return [Variant(name, message, headers_of=base) for name, message in messages]


def _notify(params: Any) -> JsonObject:
    return {"jsonrpc": "2.0", "method": "notifications/mcpgen", "params": params}


async def _send_meta(subject: Subject) -> list[Variant]:
    base = await make_harmless(subject)
    session = await subject.get_session()
    params = base.get("params", {})
    values: Mapping[str, Any] = {
        "_meta null": {**params, "_meta": None},
        "_meta as a list": {**params, "_meta": [1]},
        "_meta as a text": {**params, "_meta": "text"},
        "progressToken as an object": _with_meta(params, progressToken={"a": 1}),
        "progressToken null": _with_meta(params, progressToken=None),
        "a long progressToken": _with_meta(params, progressToken="x" * 5000),
        "an unknown key": _with_meta(params, **{"mcpgen.example/__proto__": {"a": 1}}),
        "a malformed traceparent": _with_meta(params, traceparent="00-\x00-"),
    }
    return [
        Variant(name, {**base, "params": value, "id": session.next_id()}, headers_of=base)
        for name, value in values.items()
    ]


def _with_meta(params: JsonObject, **members: Any) -> JsonObject:
    return {**params, "_meta": {**params.get("_meta", {}), **members}}


async def _send_wrong_calls(subject: Subject) -> list[Variant]:
    """Return requests of declared methods with params of the wrong shape."""
    probe = subject.probe
    found: list[tuple[str, JsonObject]] = []
    if probe.declares("tools"):
        found += [("tools/list", {"cursor": it}) for it in _CURSORS]
        found += [
            ("tools/call", it)
            for it in ({}, {"name": 7}, {"name": None}, {"name": ["a"]}, {"name": "mcpgen_none"})
        ]
        found.append(("tools/call", {"name": "__proto__", "arguments": {}}))
    if probe.declares("resources"):
        uris: tuple[Any, ...] = (
            7,
            None,
            "",
            "mcpgen",
            "file:///\x00",
            "mcpgen://" + "x" * 5000,
            "://",
            "%zz",
            {},
        )
        found += [("resources/read", {"uri": it}) for it in uris]
        found.append(("resources/read", {}))
    if probe.declares("prompts"):
        found += [("prompts/get", it) for it in ({}, {"name": 7}, {"name": "mcpgen_none"})]
        found += [
            ("prompts/get", {"name": str(it.get("name")), "arguments": [1]})
            for it in probe.prompts[:1]
        ]
    if probe.declares("completions"):
        found += [("completion/complete", {}), ("completion/complete", {"ref": 7, "argument": 7})]
    if probe.declares("logging") and not probe.is_modern:
        found += [("logging/setLevel", {"level": it}) for it in (7, "loud", None)]
    if not found:
        raise SkippedError("the server declares no capability whose methods take params")
    session = await subject.get_session()
    return [
        Variant(
            f"{method} with {_shorten(params)}",
            session.message(method, params, session.next_id()),
            must_answer=True,
        )
        for method, params in found
    ]


def _shorten(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text):,} characters)"


EXPERIMENTS: Final = (
    Experiment(
        id="requests-ids",
        title="ids of all types, and very large ones",
        why="ids are keys of maps: lists and objects are no keys, and large numbers change",
        help="accept strings and integers, answer everything else with -32600",
        variants=_send_ids,
    ),
    Experiment(
        id="requests-methods",
        title="unknown and odd methods",
        why="a lookup in an object finds what every object has",
        help="look methods up in a map of your own, and answer -32601",
        variants=_send_methods,
    ),
    Experiment(
        id="requests-params",
        title="`params` that are lists, texts, numbers, null",
        why="handlers take an object for granted",
        help="check the type of `params`, and answer -32602 with the id of the request",
        variants=_send_params,
    ),
    Experiment(
        id="requests-envelopes",
        title="messages that are neither request, notification nor response",
        why="they are told apart by members that any of them may lack",
        help="check `jsonrpc`, `method` and `id` first, and answer -32600 or ignore the message",
        variants=_send_envelopes,
    ),
    Experiment(
        id="requests-meta",
        title="malformed `_meta`, progress tokens and trace contexts",
        why="they are read before the request is handled",
        help="check the types, and ignore what is malformed or answer -32602",
        variants=_send_meta,
    ),
    Experiment(
        id="requests-wrong-calls",
        title="declared methods with missing params, and params of wrong types",
        why="handlers read a member that is not there",
        help="check the params of each method, and answer -32602",
        variants=_send_wrong_calls,
    ),
)

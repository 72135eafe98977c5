"""Hostile arguments of tools, derived from their input schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from mcpgen.factory.robustness.experiments.kinds import Experiment, require_tools
from mcpgen.factory.robustness.subject import Subject, ToolUnderTest, Variant
from mcpgen.factory.wire.session import Session
from mcpgen.jsonschema.types import JsonObject

_VALID_SECONDS: Final = 2.0
_QUICK_SECONDS: Final = 2.0  # a slower tool may do its work before it looks at the arguments
_DEPTHS: Final = (200, 5_000, 50_000)
_MARK: Final = "@@mcpgen@@"
_WRONG: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1.5, "", "text", [], ["text"], {}, {"mcpgen": 1}, [[]], [None],
)  # fmt: skip
_LARGE_NUMBERS: Final = (
    str(2**31), str(-(2**31) - 1), str(2**53 + 1), str(2**63), str(-(2**63) - 1), "1e308", "-1e308",
    "1e-400", "1" + "0" * 400, "0.1" + "0" * 400 + "1", "-0", "-0.0", "1E400",
)  # fmt: skip
_NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999")
_CONTROLS: Final = (
    "\x00", "a\x00b", "\x01\x02\x1b[31m", "line\nline\r\nline", "\x7f\x80\x9f",
    "../../etc/passwd\x00",
)  # fmt: skip
_UNICODE: Final = (
    "\u2028\u2029\u0085", "\ufeff", "\u202eabc\u202c", "e\u0301" * 50, "\U0001f468\u200d\U0001f469",
    "\U0010ffff\ufffe\uffff", "\u0130\u0131\ufb03", "\ud7ff\ue000", "%00%0a%0d",
    "${7*7}{{7*7}}<%=7%>",
)  # fmt: skip
_SURROGATES: Final = (r"\ud800", r"\udc00", r"\udfff\ud800", r"a\ud83db", r"\ud800\u0041")
_PROTOTYPE_KEYS: Final = (
    "__proto__", "constructor", "prototype", "hasOwnProperty", "toString", "__class__", "__dict__",
    "$ref", "",
)  # fmt: skip

Path = tuple[str | int, ...]


# Places in arguments


def list_places(tool: ToolUnderTest) -> list[Path]:
    """Return the paths of values in arguments: those of valid ones, and of other properties."""
    paths = [path for path in _walk(tool.arguments, ()) if path]
    properties = tool.schema.get("properties")
    declared = properties if isinstance(properties, dict) else {}
    return list(dict.fromkeys([*paths, *((name,) for name in declared)]))


def _walk(value: Any, path: Path) -> Iterator[Path]:
    yield path
    if len(path) >= 3:
        return
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _walk(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value[:2]):
            yield from _walk(each, (*path, index))


def put(arguments: Any, path: Path, value: Any) -> Any:
    """Return a copy of arguments with another value at a path."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return [put(each, rest, value) if i == first else each for i, each in enumerate(arguments)]
    inner = put(arguments.get(first), rest, value) if rest else value
    return {**arguments, first: inner}


# Messages


def _call(session: Session, tool: ToolUnderTest, arguments: Any) -> JsonObject:
    params = {"name": tool.name, "arguments": arguments}
    return session.message("tools/call", params, session.next_id())


def _describe(tool: ToolUnderTest, path: Path) -> str:
    shown = "/".join(map(str, path)) or "arguments"
    return f"`{tool.name}`, {shown}"


def _make_variant(session: Session, tool: ToolUnderTest, path: Path, value: Any) -> Variant:
    """Return a call with one value changed."""
    arguments = put(tool.arguments, path, value)
    return _make_call(session, tool, arguments, f"{_describe(tool, path)} = {_shorten(value)}")


def _make_call(session: Session, tool: ToolUnderTest, arguments: Any, name: str) -> Variant:
    """Return a call, which must be answered at once if the arguments are invalid.

    With valid arguments, a tool may take its time.
    """
    is_wrong = not tool.accepts(arguments)
    return Variant(
        name,
        _call(session, tool, arguments),
        must_answer=is_wrong and tool.seconds < _QUICK_SECONDS,
        wait_seconds=_VALID_SECONDS,
        is_client_fault=is_wrong,
    )


def _make_raw_variant(
    session: Session, tool: ToolUnderTest, path: Path, text: str, name: str = ""
) -> Variant:
    """Return a call with JSON text at a path; a parser may refuse it as a whole."""
    message = _call(session, tool, put(tool.arguments, path, _MARK))
    clean = _call(session, tool, tool.arguments)
    raw = json.dumps(message, ensure_ascii=False).replace(json.dumps(_MARK), text, 1)
    label = f"{_describe(tool, path)} = {name or _shorten(text)}"
    return Variant(label, raw.encode(), headers_of=clean, is_client_fault=False)


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    shown = text.encode("unicode_escape").decode("ascii")
    return shown if len(shown) <= 40 else f"{shown[:24]}… ({len(text):,} characters)"


def _mix(columns: Sequence[Sequence[Variant]]) -> list[Variant]:
    """Return variants of several tools and places alternately, so that a choice covers all."""
    longest = max(map(len, columns), default=0)
    return [column[row] for row in range(longest) for column in columns if row < len(column)]


async def _collect(
    subject: Subject, make: Callable[[Session, ToolUnderTest, Path], Sequence[Variant]]
) -> list[Variant]:
    tools = require_tools(subject)
    session = await subject.get_session()
    return _mix([make(session, tool, path) for tool in tools for path in list_places(tool) or [()]])


async def _send_wrong_types(subject: Subject) -> list[Variant]:
    return await _collect(
        subject,
        lambda session, tool, path: [
            variant
            for value in _WRONG
            if (variant := _make_variant(session, tool, path, value)).is_client_fault
        ],
    )


async def _send_boundaries(subject: Subject) -> list[Variant]:
    def make(session: Session, tool: ToolUnderTest, path: Path) -> list[Variant]:
        schema = _find_schema(tool, path)
        return [_make_variant(session, tool, path, it) for it in list_boundaries(schema)]

    return await _collect(subject, make)


def _find_schema(tool: ToolUnderTest, path: Path) -> Mapping[str, Any]:
    schema: Any = tool.schema
    for step in path:
        inner = schema.get("items" if isinstance(step, int) else "properties")
        schema = inner if isinstance(step, int) else (inner or {}).get(step)
        if not isinstance(schema, dict):
            return {}
    return schema if isinstance(schema, dict) else {}


def list_boundaries(schema: Mapping[str, Any]) -> list[Any]:
    """Return the values at the bounds of a schema, and those just beyond them."""
    values: list[Any] = []
    for key, step in (("minimum", -1), ("maximum", 1)):
        bound = schema.get(key)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            values += [bound, bound + step]
    for key in ("exclusiveMinimum", "exclusiveMaximum"):
        if isinstance(schema.get(key), int | float):
            values.append(schema[key])
    for key, step in (("minLength", -1), ("maxLength", 1)):
        bound = schema.get(key)
        if isinstance(bound, int) and 0 <= bound <= 10_000:
            values += ["a" * bound, "a" * max(bound + step, 0)]
    for key, step in (("minItems", -1), ("maxItems", 1)):
        bound = schema.get(key)
        if isinstance(bound, int) and 0 <= bound <= 1000:
            values += [["a"] * bound, ["a"] * max(bound + step, 0)]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        values += [choices[0], choices[-1], f"{choices[0]} "]
    return values or ["", 0, [], {}]


async def _send_huge_strings(subject: Subject) -> list[Variant]:
    size = subject.intensity.huge_bytes // 4
    text = json.dumps("x" * size)
    return await _collect(
        subject, lambda session, tool, path: [_make_raw_variant(session, tool, path, text)]
    )


async def _send_deep_nesting(subject: Subject) -> list[Variant]:
    shapes = (
        ("[" * depth + "]" * depth if is_list else '{"a":' * depth + "1" + "}" * depth, depth)
        for depth in _DEPTHS
        for is_list in (True, False)
        if depth * 6 <= subject.intensity.huge_bytes
    )
    texts = [(text, f"{depth:,} levels of nesting") for text, depth in shapes]
    found = await _collect(
        subject,
        lambda session, tool, path: [
            _make_raw_variant(session, tool, path, text, name) for text, name in reversed(texts)
        ],
    )
    return found[: subject.intensity.cases]  # the deepest are the ones that matter


def _make_sender(texts: Sequence[str]) -> Callable[[Subject], Any]:
    async def send(subject: Subject) -> list[Variant]:
        return await _collect(
            subject,
            lambda session, tool, path: [_make_variant(session, tool, path, it) for it in texts],
        )

    return send


def _make_raw_sender(texts: Sequence[str]) -> Callable[[Subject], Any]:
    async def send(subject: Subject) -> list[Variant]:
        return await _collect(
            subject,
            lambda session, tool, path: [
                _make_raw_variant(session, tool, path, it) for it in texts
            ],
        )

    return send


async def _collect_by_tool(
    subject: Subject, make: Callable[[Session, ToolUnderTest], Sequence[Variant]]
) -> list[Variant]:
    tools = require_tools(subject)
    session = await subject.get_session()
    return _mix([make(session, tool) for tool in tools])


async def _send_duplicate_keys(subject: Subject) -> list[Variant]:
    def make(session: Session, tool: ToolUnderTest) -> list[Variant]:
        clean = _call(session, tool, tool.arguments)
        text = json.dumps(_call(session, tool, _MARK), ensure_ascii=False)
        members = json.dumps(tool.arguments, ensure_ascii=False)[1:-1]
        first = next(iter(tool.arguments), "mcpgen")
        twice = ", ".join(filter(None, (f"{json.dumps(first)}: null", members)))
        argument = text.replace(json.dumps(_MARK), f"{{{twice}}}", 1)
        envelope = json.dumps(clean, ensure_ascii=False).replace(
            "{", '{"id": "first", "method": 7, ', 1
        )
        texts = ((f"`{first}` twice", argument), ("`id` and `method` twice", envelope))
        return [
            Variant(f"`{tool.name}`, {name}", raw.encode(), clean, is_client_fault=False)
            for name, raw in texts
        ]

    return await _collect_by_tool(subject, make)


async def _send_prototype_keys(subject: Subject) -> list[Variant]:
    return await _collect_by_tool(
        subject,
        lambda session, tool: [
            _make_variant(session, tool, (key,), value)
            for key in _PROTOTYPE_KEYS
            for value in ({"mcpgen": True}, "text")
        ],
    )


async def _send_incomplete(subject: Subject) -> list[Variant]:
    def make(session: Session, tool: ToolUnderTest) -> list[Variant]:
        shorter = [
            {key: value for key, value in tool.arguments.items() if key != name}
            for name in tool.arguments
        ]
        longer = {**tool.arguments, "mcpgen_unexpected": 1}
        return [
            _make_call(session, tool, arguments, f"`{tool.name}`, {_shorten(arguments)}")
            for arguments in (*shorter, {}, longer)
        ]

    return await _collect_by_tool(subject, make)


async def _send_no_object(subject: Subject) -> list[Variant]:
    return await _collect_by_tool(
        subject,
        lambda session, tool: [
            _make_variant(session, tool, (), value) for value in ([], ["a"], "text", 7, True)
        ],
    )


_CHECK: Final = "validate the arguments against the input schema before the tool runs"

EXPERIMENTS: Final = (
    Experiment(
        id="arguments-wrong-types",
        title="arguments with values of other types than the schema allows",
        why="a handler that trusts its arguments fails in the middle of its work",
        help=_CHECK,
        variants=_send_wrong_types,
    ),
    Experiment(
        id="arguments-boundaries",
        title="values at the bounds of the schema, and just beyond them",
        why="bounds are where comparisons and loops are wrong",
        help=_CHECK,
        variants=_send_boundaries,
    ),
    Experiment(
        id="arguments-incomplete",
        title="calls without a required argument, and with an unexpected one",
        why="models leave out arguments, and invent others",
        help=_CHECK,
        variants=_send_incomplete,
    ),
    Experiment(
        id="arguments-no-object",
        title="`arguments` that are a list, a text, a number",
        why="a handler that unpacks them fails before it can report the error",
        help="check that `arguments` is an object before it is used",
        variants=_send_no_object,
    ),
    Experiment(
        id="arguments-huge-strings",
        title="arguments with very long strings",
        why="a pattern with backtracking, or a copy for each step, takes minutes for them",
        help="set `maxLength` where a long text makes no sense, and use patterns of linear time",
        variants=_send_huge_strings,
    ),
    Experiment(
        id="arguments-deep-nesting",
        title="arguments with thousands of nested lists and objects",
        why="recursive parsers and validators exhaust the stack",
        help="catch the error of the parser, or limit the depth",
        variants=_send_deep_nesting,
    ),
    Experiment(
        id="arguments-control-characters",
        title="strings with NUL, line ends and terminal sequences",
        why="system calls reject NUL, and logs are forged by line ends",
        help="reject control characters where they make no sense",
        variants=_make_sender(_CONTROLS),
    ),
    Experiment(
        id="arguments-unicode",
        title="strings with line separators, invisible and combining characters",
        why="a server that splits or measures text wrongly loses messages",
        help="split at line feeds (0x0A) alone",
        variants=_make_sender(_UNICODE),
    ),
    Experiment(
        id="arguments-lone-surrogates",
        title="strings with halves of surrogate pairs, as JSON escapes",
        why="they cannot be encoded as UTF-8: a response that repeats them fails",
        help="escape what cannot be encoded when a response is written",
        variants=_make_raw_sender([f'"{it}"' for it in _SURROGATES]),
    ),
    Experiment(
        id="arguments-large-numbers",
        title="integers beyond 64 bits, numbers with hundreds of digits",
        why="conversions overflow, and some loops count up to them",
        help="set `minimum` and `maximum`, and check them before a number is used",
        variants=_make_raw_sender(_LARGE_NUMBERS),
    ),
    Experiment(
        id="arguments-not-finite",
        title="NaN, Infinity and numbers that overflow to infinity",
        why="some parsers accept them, and a response that repeats them is not JSON",
        help="reject what is not JSON, and numbers that are not finite",
        variants=_make_raw_sender(_NOT_FINITE),
    ),
    Experiment(
        id="arguments-duplicate-keys",
        title="objects that have a key twice",
        why="a check may see the one value, and the handler the other",
        help="reject such objects, or use the last value everywhere",
        variants=_send_duplicate_keys,
    ),
    Experiment(
        id="arguments-prototype-keys",
        title="properties such as `__proto__` and `constructor`",
        why="assigning them changes objects of the whole process in some languages",
        help="copy known properties only, or use maps without a prototype",
        variants=_send_prototype_keys,
    ),
)

"""A duplicate name is found in any message, however it is spelled and whatever is around it."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.runtime.transports.json_input import UndecodableError, decode_cold, make_hot_decoder

Pairs: TypeAlias = tuple[tuple[str, Any], ...]
"""The members of an object, in which a name may occur twice."""

DECODERS = {"cold": decode_cold, "hot": make_hot_decoder()}
MEMBERS = ("jsonrpc", "id", "params", "arguments", "_meta", "a", "a:", ":", '"', "\\", "é", "")


class Text(str):
    """A string as it is spelled in JSON, with its quotes."""

    __slots__ = ()


@st.composite
def spelled(draw: st.DrawFn, values: st.SearchStrategy[str]) -> Text:
    """Strings, each character of which may be escaped."""
    units = [
        rf"\u{ord(character):04x}" if draw(st.booleans()) else json.dumps(character)[1:-1]
        for character in draw(values)
    ]
    return Text(f'"{"".join(units)}"')


def pairs(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Pairs]:
    """Members of an object, with few names, so that many occur twice."""
    return st.lists(st.tuples(names, items), max_size=4).map(tuple)


names = spelled(st.sampled_from(MEMBERS))
strings = spelled(st.text(':"\\a,{}', max_size=4))
scalars = st.none() | st.booleans() | st.integers() | strings
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | pairs(inner),
    max_leaves=8,
)


def member(name: str, items: st.SearchStrategy[Any]) -> st.SearchStrategy[Pairs]:
    """No, one or two members of a name."""
    return st.lists(st.tuples(spelled(st.just(name)), items), max_size=2).map(tuple)


def join(*parts: st.SearchStrategy[Pairs]) -> st.SearchStrategy[Pairs]:
    """The members of all parts in any order."""
    return (
        st.tuples(*parts)
        .map(lambda all_pairs: sum(all_pairs, ()))
        .flatmap(st.permutations)
        .map(tuple)
    )


flat = pairs(scalars)
params = join(flat, member("arguments", flat | values), member("_meta", flat | values))
calls = join(flat, member("params", params | values))
spaces = st.sampled_from(["", " ", "\n\t"])


def write(value: Any, space: str) -> str:
    """Write JSON in which a tuple of pairs is an object."""
    if isinstance(value, tuple):
        members = (f"{name}{space}:{space}{write(it, space)}" for name, it in value)
        return "{" + f"{space},{space}".join(members) + "}"
    if isinstance(value, list):
        return "[" + f"{space},{space}".join(write(it, space) for it in value) + "]"
    return value if isinstance(value, Text) else json.dumps(value)


def has_duplicates(text: str) -> bool:
    """Return whether an object has a name twice, as the hook of the standard library sees it."""
    found = False

    def check(members: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len({name for name, _ in members}) < len(members)

    json.loads(text, object_pairs_hook=check)
    return found


@pytest.mark.parametrize("decoder", DECODERS)
@given(message=calls | values, space=spaces)
def test_exactly_the_messages_with_a_duplicate_name_are_rejected(
    decoder: str, message: Any, space: str
) -> None:
    check(decoder, write(message, space))


# What could make up for the colon of a dropped member, if it was counted.
ADVERSARIAL = {
    "arguments that are text": '{"params":{"arguments":"x","_meta":{},"a":1,"a":2}}',
    "arguments that are an array": '{"params":{"arguments":[1],"_meta":{},"a":1,"a":2}}',
    "metadata that is text": '{"params":{"arguments":{},"_meta":"x","a":1,"a":2}}',
    "metadata that is an array": '{"params":{"arguments":{},"_meta":[0],"a":1,"a":2}}',
    "arguments twice": '{"params":{"arguments":{"a":1},"arguments":{"a":1,"b":2}}}',
    "metadata twice": '{"params":{"arguments":{},"_meta":{"a":1},"_meta":{"a":1,"b":2}}}',
    "params twice": '{"params":{"arguments":{}},"params":{"arguments":{"a":1,"b":2}}}',
    "params spelled otherwise": r'{"params":{"arguments":{}},"p\u0061rams":{"arguments":{}}}',
    "a colon that is escaped": r'{"params":{"arguments":{"a":"\u003a\u003A","b":1,"b":2}}}',
    "an array with names": '["params","arguments","params"]',
    "text": '"params"',
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("text", ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_nothing_makes_up_for_a_dropped_member(decoder: str, text: str) -> None:
    check(decoder, text)
    check(decoder, f" {text}")  # as from a client that writes spaces: members are counted first


def check(decoder: str, text: str) -> None:
    data = text.encode()
    if has_duplicates(text):
        with pytest.raises(UndecodableError, match="duplicate name"):
            DECODERS[decoder](data)
    else:
        assert DECODERS[decoder](data) == json.loads(text)

"""Tests of signatures of tools, resources and prompts, and of what clients see of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, get_origin

import pytest

from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.runtime import ConfigurationError, Context, Features, Text
from mcpgen.runtime.handlers.signatures import Signature, read_parameter_texts, read_summary
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition

EMPTY = ServerDefinition({"name": "hand", "version": "1"}, tools=PreparedList("tools"))


class Cat(TypedDict):
    lives: int


class Dog(TypedDict):
    legs: int


class Thing(TypedDict):
    anything: object


class Opaque:
    """A type that no JSON Schema describes."""


def test_an_argument_need_not_be_keyword_only() -> None:
    async def find(ctx: Context, name: str, limit: int = 10, *, exact: bool = False) -> str:
        return name

    schema = Signature(find).make_input_schema()
    assert schema["required"] == ["name"]
    assert list(schema["properties"]) == ["name", "limit", "exact"]


def no_context(*, name: str) -> str:
    return name


def other_first(name: str) -> str:
    return name


def nothing_at_all() -> str:
    return ""


def any_number(ctx: Context, *names: str) -> str:
    return repr(names)


def any_keyword(ctx: Context, **more: str) -> str:
    return repr(more)


def by_position(ctx: Context, name: str, /) -> str:
    return name


def yields(ctx: Context) -> Iterator[str]:
    yield ""


async def yields_later(ctx: Context) -> AsyncIterator[str]:
    yield ""


def takes_opaque(ctx: Context, *, size: int, thing: Opaque) -> str:
    return repr(thing)


def takes_two_shapes(ctx: Context, *, pet: Cat | Dog) -> str:
    return repr(pet)


def gives_opaque(ctx: Context) -> Opaque:
    return Opaque()


class Farm(TypedDict):
    cats: list[Cat]
    barn: Opaque


class Zoo(TypedDict):
    lion: Lion  # type: ignore[name-defined]  # noqa: F821  (the fault)


def takes_opaques(ctx: Context, *, things: dict[str, list[Path | None]]) -> str:
    return repr(things)


def gives_a_field(ctx: Context) -> Farm:
    return {"cats": [], "barn": Opaque()}


def gives_unknown_field(ctx: Context) -> Zoo:
    return {"lion": None}


def wrong_default(ctx: Context, *, size: int = "big") -> str:  # type: ignore[assignment]  # the fault
    return str(size)


def default_of_no_json(ctx: Context, *, size: int = Opaque()) -> str:  # type: ignore[assignment]  # the fault
    return str(size)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_context, "`no_context` must take the context first: `ctx: Context`"),
        (other_first, "`other_first` must take the context first"),
        (nothing_at_all, "`nothing_at_all` must take the context first"),
        (any_number, "`any_number`: `*names` cannot be passed by keyword"),
        (any_keyword, "`any_keyword`: `**more` cannot be passed by keyword"),
        (by_position, "`by_position`: `name` cannot be passed by keyword"),
        (yields, "`yields` is a generator: return the whole result"),
        (yields_later, "`yields_later` is a generator: return the whole result"),
        (takes_opaque, "unsupported type `Opaque` of `thing`: JSON has no `Opaque`. Use `str`, "),
        (
            takes_opaques,
            "of `things`: JSON has no `Path`, which is part of `dict[str, list[Path | None]]`. Use",
        ),
        (takes_two_shapes, "unsupported type `Cat | Dog` of `pet`: the members of `Cat | Dog` can"),
        (gives_opaque, "unsupported type `Opaque` of the result: JSON has no `Opaque`. Use `str`,"),
        (gives_a_field, "type `Farm` of the result: JSON has no `Opaque`, which is part of `Farm`"),
        (gives_unknown_field, "unsupported type `Zoo` of the result: name 'Lion' is not defined"),
        (wrong_default, "the default of `size` does not fit its type: Expected `int`, got `str`"),
        (default_of_no_json, "the default of `size` does not fit its type: "),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_rejected_with_its_location(
    function: Callable[..., Any], said: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Features().tool()(function)
    place, _, reason = str(refused.value).partition(": ")
    assert place == f"{__file__}:{function.__code__.co_firstlineno}"
    assert said in reason
    assert "\n" not in reason


CAT = {"$ref": "#/$defs/Cat"}
DOG = {"$ref": "#/$defs/Dog"}


@pytest.mark.parametrize(
    ("annotation", "schema", "key"),
    [
        (dict[str, object], {"type": "object"}, ""),
        (dict[str, Any], {"type": "object"}, ""),
        (Mapping[str, object], {"type": "object"}, ""),
        (dict[str, object] | None, {"anyOf": [{"type": "object"}, {"type": "null"}]}, "result"),
        (list[dict[str, object]], {"type": "array", "items": {"type": "object"}}, "result"),
        (Sequence[Mapping[str, Any]], {"type": "array", "items": {"type": "object"}}, "result"),
        (int, {"type": "integer"}, "result"),
        (Cat | Dog, {"type": "object", "anyOf": [CAT, DOG]}, ""),
        (Cat | dict[str, object], {"type": "object", "anyOf": [CAT, {"type": "object"}]}, ""),
        (None, None, ""),
        (str, None, ""),
        (object, None, ""),
        (Any, None, ""),
        (list[object], None, ""),  # content blocks, perhaps
        (list[Text], None, ""),
    ],
    ids=str,
)
def test_the_output_schema_follows_the_return_type(
    annotation: Any, schema: dict[str, Any] | None, key: str
) -> None:
    def give(ctx: Context) -> Any: ...

    give.__annotations__["return"] = annotation
    found, found_key = Signature(give).make_output_schema()
    found = found and {name: it for name, it in found.items() if name != "$defs"}
    assert (found["properties"]["result"] if found and key else found) == schema
    assert found_key == key


@pytest.mark.parametrize(
    "annotation",
    [object, Any, dict[str, object], Mapping[str, object], list[object], Thing, object | None],
    ids=str,
)
def test_arguments_of_any_type_are_passed_unchanged(annotation: Any) -> None:
    def take(ctx: Context, *, value: Any) -> None: ...

    take.__annotations__["value"] = annotation
    signature = Signature(take)
    is_list = get_origin(annotation) is list
    value: Any = [1, {"a": None}] if is_list else {"anything": {"a": [1, "2", None, 2.5]}}
    validator = SchemaValidator(signature.make_input_schema())
    assert validator.problems({"value": value}) == ()
    assert signature.convert({"value": value}) == {"value": value}


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("test://{id}", "has no argument `id`, which is one of the variables of `test://{id}`"),
        ("test://all", "nothing gives it `key`, which is none of the variables of `test://all`"),
        ("test://{key}/{more}", "has no argument `more`"),
    ],
)
def test_a_resource_function_must_take_the_variables_of_its_uri(uri: str, said: str) -> None:
    def read(ctx: Context, *, key: str) -> str:
        return key

    with pytest.raises(ConfigurationError, match="`read`") as refused:
        Features().resource(uri)(read)
    assert said in str(refused.value)


@pytest.mark.parametrize(("prompt", "argument"), [("reveiw", "tone"), ("review", "tune")])
def test_a_completion_for_an_unknown_argument_is_rejected(prompt: str, argument: str) -> None:
    features = Features()

    @features.prompt()
    def review(ctx: Context, *, tone: str) -> str:
        return tone

    @features.completion(prompt=prompt, argument=argument)
    def tones(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:
        return [value]

    with pytest.raises(ConfigurationError, match=f"unknown argument `{argument}` of `{prompt}`"):
        features.check_completions(features.extend(EMPTY, ()))


GOOGLE = """Move it.

    With care.

    Args:
        thing (str, optional): What to move.
        way: Where to: up
            or down.

    Returns:
        What it was.

    Example:
        >>> move()
    """
GOOGLE_NARROW = """Move it.

    With care.

    Arguments:
      thing: What to move.

      way: Where to: up or down.
    """
NUMPY = """Move it.

    With care.

    Parameters
    ----------
    thing : str, optional
        What to move.
    way
        Where to: up

        or down.

    Returns
    -------
    str
        What it was.
    """
SPHINX = """Move it.

    With care.

    :param str thing: What to move.
    :param way: Where to: up
        or down.
    :type way: str
    :returns: What it was.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, GOOGLE_NARROW, NUMPY, SPHINX])
def test_docstrings_in_every_common_layout_are_parsed(docstring: str) -> None:
    def move() -> None:
        pass

    move.__doc__ = docstring
    assert read_summary(move) == "Move it.\n\nWith care."
    assert read_parameter_texts(move) == {"thing": "What to move.", "way": "Where to: up or down."}


def test_parameters_that_share_a_description_both_get_it() -> None:
    def move() -> None:
        """Move it.

        Parameters
        ----------
        x, y : int
            Where to.
        """

    assert read_parameter_texts(move) == {"x": "Where to.", "y": "Where to."}


def test_words_followed_by_a_colon_are_not_a_section() -> None:
    def move() -> None:
        """Move it.

        Note: slowly. Raises: never.
        """

    assert read_summary(move) == "Move it.\n\nNote: slowly. Raises: never."
    assert read_parameter_texts(move) == {}

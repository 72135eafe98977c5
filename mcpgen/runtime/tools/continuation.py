"""The rest of a result: the exact call that returns it, and the part that such a call returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_plus

from msgspec import Struct

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import InvalidArgumentsError, ToolError
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.projection import Cut, Place
from mcpgen.runtime.upstream.response.next_page import (
    PaginationRule,
    Path,
    Step,
    get_member,
    put_member,
    read_number,
)
from mcpgen.runtime.upstream.response.pagination import Page, Paging
from mcpgen.text.json_pointer import json_pointer, pointer_tokens

if TYPE_CHECKING:
    from mcpgen.runtime.tools.tool import Tool

_MAX_SHOWN_ARGUMENTS: Final = 1_000  # bytes of a call that a note shows in full
_MAX_DIGITS: Final = 12  # of an index


class NextCall(Struct, frozen=True):
    """The call that returns a missing part of a cut result."""

    reason: str  # "Cut: `/items` shows 30 of 100 items"
    call: JsonObject | None  # `name` and `arguments`; None if there is none without an effect


class Rest(Struct):
    """Properties of a call that determine how its result continues."""

    tool: Tool
    arguments: JsonObject
    through: str = ""  # the tool by which clients call unlisted ones; "" for a listed one
    paging: Paging | None = None
    is_replaced: bool = False  # hooks may change what the API sent, so that its pages are unknown
    is_projected: bool = False  # the part of the result that shows how to continue may be omitted
    place: Place = ()  # the start of the result, as `open` found it
    value: Any = None  # the selected part of the value, before it is cut
    called_as: str = ""  # the merged tool by which the client called `tool`; "" for none
    selection: JsonObject | None = None  # the argument with which it selected `tool`

    def is_part(self) -> bool:
        """Return whether something is before the result, or a page is known to follow."""
        return bool(self.place) or (self.paging is not None and self.paging.following is not None)

    @property
    def _listed(self) -> tuple[str, ...]:
        """The place of the items of a paginated list."""
        return () if self.paging is None else self.paging.place

    def open(self, value: Any) -> Any:
        """Return the part of a value that the call requests, and remember its place.

        Raises:
            ToolError: the value has no such place.
        """
        pointer = self.arguments.get(self.tool.continuation)
        if not pointer:
            return value
        tokens = pointer_tokens(pointer)
        if self.paging is not None and self.paging.pages:
            tokens = _move(tokens, self.paging.place, -self.paging.pages[0].first)
        place: list[str | int] = []
        try:
            for token in tokens[:-1]:
                place.append(_to_key(token, value))
                value = value[place[-1]]
            place.append(_to_key(tokens[-1], value))
            value = _leave_out(value, place[-1])
        except (LookupError, TypeError, ValueError):
            raise ToolError(
                f"The result has no `{pointer}` now. Call again without `{self.tool.continuation}`."
            ) from None
        self.place = tuple(place)
        return value

    def wrap(self, value: Any) -> Any:
        """Return the part at its place: inside of the objects and lists that contain it."""
        for token in reversed(self.place[:-1]):
            value = {token: value} if isinstance(token, str) else [value]
        return value

    def list_calls(self, cuts: Sequence[Cut]) -> Iterator[NextCall]:
        """Yield the call for each part that is cut, and for the next page if it is not obvious."""
        for cut in cuts:
            skipped, place = self._locate(cut)
            whole = Cut(place[:-1], cut.unit, cut.shown, cut.total, place[-1])
            yield NextCall(f"Cut: {whole.describe(skipped)}", self._make_call_for(place))
        # Where the items are cut, their rest leads on; where others are shown, they led here.
        listed = self._listed
        is_at_end = self.place[:-1] == listed if self.place else True
        if is_at_end and all(self._locate(cut)[1][:-1] != listed for cut in cuts):
            yield from self.list_page_calls(is_cut=bool(cuts))

    def list_page_calls(self, *, is_cut: bool) -> Iterator[NextCall]:
        """Yield the call for the page after those that were fetched, if it is not obvious."""
        paging = self.paging
        following = None if paging is None else paging.following
        if paging is None or following is None:
            return
        is_needed = (
            paging.requested is not None
            or paging.rule.kind in {"link", "next"}
            or self.is_projected
            or is_cut
            or bool(self.place)
        )
        if is_needed:
            yield NextCall(
                paging.describe(),
                self._make_page_call(self.arguments, following, (following.first,)),
            )

    def _locate(self, cut: Cut) -> tuple[int, Place]:
        """Return how much is skipped before the shown part, and the place where the rest begins."""
        within = (*cut.place, cut.following)
        if not self.place:
            return 0, within
        base = self.place[-1]
        if isinstance(base, str):
            return 0, (*self.place[:-1], *within)
        moved = base + int(within[0])
        return (0 if cut.place else base), (*self.place[:-1], moved, *within[1:])

    def _make_call_for(self, place: Place) -> JsonObject | None:
        """Return the call whose result begins at a place of the whole result."""
        paging, listed = self.paging, self._listed
        index = place[len(listed)] if place[: len(listed)] == listed else None
        if paging is None or self.is_replaced or not isinstance(index, int):
            return self._make_call(self.arguments, place)
        index += paging.pages[0].first  # a place counts from the first gathered page
        page = [page for page in paging.pages if page.first <= index][-1]
        inside = place[len(listed) + 1 :]
        shown = 1 if inside else sum(page.first < index for page in paging.pages)
        # The argument also makes the result name the next page.
        arguments = {**self.arguments, paging.rule.argument: max(shown, 1)}
        return self._make_page_call(arguments, page, (index, *inside))

    def _make_page_call(
        self, arguments: JsonObject, page: Page, item: tuple[int, *Place]
    ) -> JsonObject | None:
        """Return the call whose result begins at an item of a page, or inside of the item.

        `arguments` are those for the first page that was fetched, from which the index counts.
        """
        index, *inside = item
        listed = self._listed
        if not inside and (moved := self._move_offset(arguments, index)) is not None:
            return self._make_call(moved, ())
        moved = None if page.step is None else self._express(page.step, arguments)
        if moved is not None:
            index -= page.first
            is_whole = index == 0 and not inside
            return self._make_call(moved, () if is_whole else (*listed, index, *inside))
        if self.is_replaced:
            return None  # skipped items are items in the form of the API
        return self._make_call(arguments, (*listed, index, *inside))

    def _make_call(self, arguments: JsonObject, place: Place) -> JsonObject | None:
        """Return a call of the tool with the argument for a place; () for the whole result."""
        argument = self.tool.continuation
        arguments = {name: value for name, value in arguments.items() if name != argument}
        if place:
            if not argument:
                return None
            arguments[argument] = json_pointer(place)
        name = self.called_as or self.tool.name
        call: JsonObject = {"name": name, "arguments": {**(self.selection or {}), **arguments}}
        return {"name": self.through, "arguments": call} if self.through else call

    def _move_offset(self, arguments: JsonObject, index: int) -> JsonObject | None:
        """Return the arguments with the offset of an item; None without such an argument."""
        rule = self.paging.rule if self.paging is not None else None
        if rule is None or rule.kind != "offset" or self.is_replaced:
            return None
        place = _find_position(self.tool, rule)
        if not place:
            return None
        offset = get_member({**self.tool.defaults, **arguments}, place)
        current = read_number(rule.first if offset is None else offset)
        return None if current is None else self._accept_number(arguments, place, current + index)

    def _express(self, step: Step, arguments: JsonObject) -> JsonObject | None:
        """Return the arguments that send what a step to another page sends; None if none do."""
        if isinstance(step, Mapping):
            rule = self.paging.rule if self.paging is not None else None
            place = () if rule is None else _find_position(self.tool, rule)
            (value,) = step.values()
            if not place:
                return None
            if isinstance(value, int):
                return self._accept_number(arguments, place, value)
            return self._accept(put_member(arguments, place, value))
        names = _find_arguments(self.tool)
        sent = self.paging.sent if self.paging is not None else ()
        before, after = [*map(_split, sent)], [*map(_split, step)]
        changed = [pair for pair in after if pair not in before]
        kept = {name for name, _ in after}
        moved = {
            name: value
            for name, value in arguments.items()
            if not any(names.get(wire) == name for wire, _ in before if wire not in kept)
        }
        for wire, text in changed:
            if wire not in names or sum(other == wire for other, _ in after) > 1:
                return None
            moved[names[wire]] = text
            if self._accept(moved) is None and text.isdecimal() and len(text) <= _MAX_DIGITS:
                moved[names[wire]] = int(text)
        return self._accept(moved)

    def _accept_number(self, arguments: JsonObject, place: Path, number: int) -> JsonObject | None:
        """Return the arguments with a number, which some APIs describe as a text."""
        found = self._accept(put_member(arguments, place, number))
        return found or self._accept(put_member(arguments, place, str(number)))

    def _accept(self, arguments: JsonObject) -> JsonObject | None:
        """Return the arguments if they are valid, else None."""
        return arguments if self.tool.accepts(arguments) else None


def check_pointer(tool: Tool, arguments: JsonObject) -> None:
    """Check the argument that continues a result.

    Raises:
        InvalidArgumentsError: it is not a JSON Pointer.
    """
    pointer = arguments.get(tool.continuation)
    if isinstance(pointer, str) and pointer and not pointer.startswith("/"):
        problem = f"`/{tool.continuation}` must be as a note of a cut result says: `/items/30`"
        raise InvalidArgumentsError(tool.name, (problem,))


def describe_calls(calls: Sequence[NextCall], arguments: JsonObject) -> list[str]:
    """Return a note for each call."""
    notes = []
    for item in calls:
        if item.call is None:
            notes.append(f"{item.reason}. The rest cannot be requested.")
            continue
        text = encode_json(item.call["arguments"]).decode()
        if len(text) > _MAX_SHOWN_ARGUMENTS:
            inner = item.call["arguments"].get("arguments", item.call["arguments"])
            new = {name: it for name, it in inner.items() if arguments.get(name) != it}
            text = f"with the arguments of this call, and {encode_json(new).decode()}"
        notes.append(f"{item.reason}. Next call: `{item.call['name']}` {text}")
    return notes


def _find_arguments(tool: Tool) -> dict[str, str]:
    """Return the arguments that are query parameters, by wire name."""
    return {
        rule.name: rule.argument
        for rule in tool.rules.parameters
        if rule.location == "query" and rule.argument
    }


def _find_position(tool: Tool, rule: PaginationRule) -> Path:
    """Return the place of a list's cursor, page or offset in the arguments; () if it has none."""
    if not rule.body:
        name = _find_arguments(tool).get(rule.parameter)
        return () if name is None else (name,)
    listed = {wire: name for name, wire in tool.contract.get("wire_names", {}).items()}
    member, *inside = (listed.get(name, name) for name in rule.body)
    if tool.flat_body is not None:
        name = tool.flat_body.names.get(member)
        return () if name is None else (name, *inside)
    body = tool.rules.body
    return (body.argument, member, *inside) if body is not None and body.argument else ()


def _move(tokens: tuple[str, ...], listed: tuple[str, ...], by: int) -> tuple[str, ...]:
    """Return the tokens with the index of a listed item moved."""
    index = _to_index(tokens[len(listed)]) if tokens[: len(listed)] == listed else None
    if index is None or not by:
        return tokens
    return (*listed, str(max(index + by, 0)), *tokens[len(listed) + 1 :])


def _to_key(token: str, value: Any) -> str | int:
    """Return the key that a token is for a value.

    Raises:
        LookupError: the value has no keys, or not this one.
    """
    if isinstance(value, dict):
        return token
    index = _to_index(token)
    if index is None or not isinstance(value, (list, str)):
        raise LookupError(token)
    return index


def _to_index(token: str) -> int | None:
    is_index = token.isascii() and token.isdecimal() and len(token) <= _MAX_DIGITS
    return int(token) if is_index else None


def _leave_out(value: Any, key: str | int) -> Any:
    """Return a list or text from an index on, or an object from a name on."""
    if isinstance(key, int):
        return value[key:]
    names = list(value)
    return {name: value[name] for name in names[names.index(key) :]}


def _split(pair: str) -> tuple[str, str]:
    name, _, text = pair.partition("=")
    return unquote_plus(name), unquote_plus(text)

"""The calls that an agent made, and their comparison with those that a task requires."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from mcpgen.ir.eval_references import UnresolvedError, resolve
from mcpgen.ir.eval_tasks import EvalTask, ExpectedCall
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.testing.suite.compare import is_same
from mcpgen.text.counts import format_count

_MAX_STEPS: Final = 20_000  # of the search for the required calls among those that were made
_MAX_SHOWN: Final = 300


class MadeCall(Struct, frozen=True):
    """One call of an agent. `tool` is the called tool, also if `call_tool` called it."""

    tool: str
    arguments: JsonObject
    error: str = ""  # why it failed; "" if it succeeded
    structured: JsonValue = None  # the structured content of the result
    tokens: int = 0  # of the content of the result

    def as_json(self) -> JsonObject:
        """Return the call for reports."""
        return {"tool": self.tool, "arguments": self.arguments, "error": self.error or None}


class Matching(Struct, frozen=True):
    """Results of the required calls that were found, and a reason if one is missing."""

    results: Mapping[str, JsonValue]
    missing: str = ""  # why a call was not found; "" if all were


def match_calls(task: EvalTask, made: Sequence[MadeCall]) -> Matching:
    """Compare the calls that an agent made with those that a task requires.

    Each required call needs a call of its own. With the order "given", it must come after the call
    for the one before it.
    """
    return _Search(task, made).run()


class _Search:
    """Search with backtracking: the first call that fits may not be the one that others need."""

    def __init__(self, task: EvalTask, made: Sequence[MadeCall]) -> None:
        self._task = task
        self._made = made
        self._steps = 0
        self._best = Matching({}, "")
        self._best_length = -1

    def run(self) -> Matching:
        found = self._extend((), {})
        return Matching(found) if found is not None else self._best

    def _extend(
        self, taken: tuple[int, ...], results: Mapping[str, JsonValue]
    ) -> Mapping[str, JsonValue] | None:
        """Return the results if the calls after those in `taken` are found."""
        if len(taken) == len(self._task.calls):
            return results
        expected = self._task.calls[len(taken)]
        is_ordered = self._task.order == "given"
        start = taken[-1] + 1 if taken and is_ordered else 0
        candidates = [number for number in range(start, len(self._made)) if number not in taken]
        if len(taken) > self._best_length:
            self._best_length = len(taken)
            self._best = Matching(
                results, self._explain(expected, candidates, results, bool(taken))
            )
        for number in candidates:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                return None
            call = self._made[number]
            if bool(call.error) is expected.fails and is_expected(call, expected, results):
                more = {**results, expected.id: call.structured} if expected.id else results
                found = self._extend((*taken, number), more)
                if found is not None:
                    return found
        return None

    def _explain(
        self,
        expected: ExpectedCall,
        candidates: Sequence[int],
        results: Mapping[str, JsonValue],
        has_earlier: bool,
    ) -> str:
        """Explain why no candidate is the wanted call."""
        calls = [self._made[number] for number in candidates]
        of_tool = [call for call in calls if call.tool == expected.tool]
        after = " after the call before it" if has_earlier and self._task.order == "given" else ""
        if not of_tool:
            others = sorted({call.tool for call in calls})
            instead = f"; called instead: {', '.join(others)}" if others else ""
            return f"`{expected.tool}` was not called{after}{instead}"
        try:
            arguments = resolve(expected.arguments, results)
        except UnresolvedError as error:
            return f"`{expected.tool}` cannot be compared: {error}"
        fitting = [call for call in of_tool if is_expected(call, expected, results)]
        if fitting and expected.fails:
            return f"`{expected.tool}` succeeded, but must fail"
        if fitting:
            return f"`{expected.tool}` failed: {shorten(fitting[-1].error)}"
        shown = f"expected {format_json(arguments)}" if arguments else "which violates `schema`"
        return (
            f"`{expected.tool}` was called{after} with {format_json(of_tool[-1].arguments)}, "
            f"{shown}"
        )


def is_expected(call: MadeCall, expected: ExpectedCall, results: Mapping[str, JsonValue]) -> bool:
    """Return whether a call is of the wanted tool and has the wanted arguments."""
    if call.tool != expected.tool:
        return False
    try:
        arguments = resolve(expected.arguments, results)
    except UnresolvedError:
        return False
    if not contains(call.arguments, arguments):
        return False
    return not expected.schema or Schemas({}).fits(expected.schema, call.arguments)


def find_forbidden(task: EvalTask, made: Sequence[MadeCall]) -> Iterator[str]:
    """Yield a line for each forbidden call that happened."""
    for forbidden in task.forbidden:
        for number, call in enumerate(made, 1):
            if call.tool == forbidden.tool and contains(call.arguments, forbidden.arguments):
                yield f"`{call.tool}` must not be called; call {number} did"
                break


def contains(found: JsonValue, expected: JsonValue) -> bool:
    """Return whether a value has the wanted members, in objects at any depth outside of lists."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and contains(found[name], value) for name, value in expected.items()
        )
    return is_same(expected, found)


def list_tools(task: EvalTask) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the tools that a task names, with the keys of each in the task."""
    for number, call in enumerate(task.calls):
        yield ("calls", str(number), "tool"), call.tool
    for number, forbidden in enumerate(task.forbidden):
        yield ("forbidden", str(number), "tool"), forbidden.tool


def count_errors(made: Sequence[MadeCall]) -> int:
    """Return the number of failed calls."""
    return sum(bool(call.error) for call in made)


def summarize_calls(made: Sequence[MadeCall]) -> str:
    """Return the numbers of calls and errors: "3 calls, 1 error"."""
    errors = count_errors(made)
    text = format_count(len(made), "call")
    return f"{text}, {format_count(errors, 'error')}" if errors else text


def shorten(text: str) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN - 1]}…"


def format_json(value: JsonValue) -> str:
    """Return the beginning of a value as JSON."""
    return shorten(json.dumps(value, ensure_ascii=False))

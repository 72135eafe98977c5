"""Test cases of a package's tools: `tests/generated/cases.json`, one entry per tool.

An entry contains the smallest call in full. Everything else is stored as the difference from it:

- `calls`: arguments and expected requests; the first is the smallest call, and `without` names
  arguments of it that another call does not have;
- `pages`: the replies of a paginated list, and the request expected for each page;
- `parts`: arguments that request a part of the result, and the part;
- `refused`: arguments that the server must reject without sending a request;
- `failures`: failures of the API, by the names of `mcpgen.contract.failures`;
- `credentials`: the configured security schemes, and the expected outcome;
- `settings`: environment variables with parameter values; `needed_settings` are the required ones;
- `untested`: what has no generated sample, and why;
- `attempts`, `timeout_seconds`, `kept`: request and result settings of the manifest;
- `has_key`: whether requests have an idempotency key, so that they are retried.

An entry with an `id` is one complete case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import convert

from mcpgen.contract.failures import RetryLimits, build_failure
from mcpgen.runtime.content import JsonObject

_RETRY_KEYS = ("variables", "attempts", "timeout_seconds", "has_key")
_MORE_FOLLOW = "more follow"
PLACES = ("path", "query", "header", "cookie")


@dataclass(frozen=True, slots=True)
class Case:
    """One tool call: its arguments, the replies of the API, and the expected outcome.

    `expect` has `operation`, `is_error` and `request` (null: none is sent), and optionally `text`
    (`contains`, `not_contains`), `status` (of the API, in the result), `attempts` (the number of
    requests, by default one), `waits_seconds` (the minimum wait between them) and `kept` (the part
    of a response that is in the result, by default all). A paginated list has `requests`, one per
    page, and `joined`, the member with the items of all pages ("": the result is their list),
    of the object at the path `within`.
    """

    id: str
    tool: str
    group: str = "calls"  # or "refused", "failures", "credentials", "settings", "untested"
    arguments: JsonObject = field(default_factory=dict)
    reply: JsonObject | None = None  # difference of the API's reply from the usual one
    expect: JsonObject = field(default_factory=dict)
    untested: str = ""  # why there is no call: no sample was generated
    configured: tuple[str, ...] | None = None  # security schemes; None: all of them
    replies: Sequence[JsonObject] = ()  # consecutive replies of the API, instead of `reply`
    settings: Mapping[str, str] = field(default_factory=dict)  # environment variables

    @classmethod
    def from_json(cls, entry: JsonObject) -> Case:
        """Read a complete case."""
        group = {"group": "untested"} if entry.get("untested") else {}
        return convert({**entry, **group}, cls)

    def __str__(self) -> str:
        return self.id


def read_cases(entries: Iterable[JsonObject]) -> list[Case]:
    """Return the cases of all entries of a `cases.json`, in order."""
    cases: list[Case] = []
    for entry in entries:
        cases += [Case.from_json(entry)] if "id" in entry else _Entry(entry).cases()
    return cases


class _Entry:
    """The cases of one tool."""

    def __init__(self, entry: JsonObject) -> None:
        self._entry = entry
        self._operation: str = entry["operation"]
        self._calls: list[JsonObject] = entry.get("calls", [])

    def cases(self) -> Iterator[Case]:
        for gap in self._entry.get("untested", ()):
            yield self._make_case(gap["what"], "untested", {}, arguments={}, untested=gap["why"])
        if not self._calls:
            return
        for call in self._calls:
            arguments = self._merge_arguments(call)
            yield self._make_success(
                call["what"], "calls", self._merge_request(call), arguments=arguments
            )
        yield from self._make_page_cases()
        for part in self._entry.get("parts", ()):
            kept = {**self._entry.get("kept", {}), **part["kept"]}
            arguments = {**self._calls[0]["arguments"], **part["arguments"]}
            request = self._merge_request(self._calls[0])
            case = self._make_success(part["what"], "calls", request, arguments=arguments)
            yield replace(case, expect={**case.expect, "kept": kept})
        yield from self._make_refused_cases()
        for name in self._entry.get("failures", ()):
            reply, expect = build_failure(name, self._method, self._retry_limits)
            expect = {"request": self._merge_request(self._calls[0]), **expect}
            what = f"the API answers {name}" if name.isdigit() else name
            yield self._make_case(what, "failures", expect, reply=reply)
        for setting in self._entry.get("credentials", ()):
            yield self._make_credential_case(setting)
        yield from self._make_settings_cases()

    @property
    def _method(self) -> str:
        stated: str = self._entry.get("method", "")
        return stated or self._operation.partition(" ")[0]

    @property
    def _retry_limits(self) -> RetryLimits:
        return RetryLimits(**{key: self._entry[key] for key in _RETRY_KEYS if key in self._entry})

    def _make_page_cases(self) -> Iterator[Case]:
        """Yield a call for all pages of a list, and one for the first page only."""
        pages = self._entry.get("pages")
        if pages is None:
            return
        requests = [self._merge_request({"request": request}) for request in pages["requests"]]
        for what, count, most in (
            ("all pages, joined", len(requests), len(requests) + 1),
            ("one page, though more follow", 1, 1),
        ):
            yield self._make_success(
                what,
                "calls",
                requests[0],
                {
                    "requests": requests[:count],
                    "joined": pages["items"],
                    "within": pages.get("within", []),
                    "text": {
                        "contains" if count < len(requests) else "not_contains": [_MORE_FOLLOW]
                    },
                },
                arguments={**self._calls[0]["arguments"], pages["argument"]: most},
                reply=None,
                replies=pages["replies"][:count],
            )

    def _make_refused_cases(self) -> Iterator[Case]:
        for refusal in self._entry.get("refused", ()):
            arguments = self._merge_arguments(refusal)
            yield self._make_refusal(
                refusal["what"], "refused", [refusal["says"]], arguments=arguments
            )

    def _make_credential_case(self, setting: JsonObject) -> Case:
        configured = tuple(setting["configured"])
        what = f"with {' and '.join(configured) or 'no credential'}"
        if "needs" in setting:
            usual = self._entry.get("reply")
            return self._make_refusal(
                what, "credentials", setting["needs"], reply=usual, configured=configured
            )
        request = {**self._merge_request(self._calls[0]), "security": setting["sends"]}
        return self._make_success(what, "credentials", request, configured=configured)

    def _make_settings_cases(self) -> Iterator[Case]:
        """Omit each required setting: no request is sent, and the result names the setting."""
        settings = self._entry.get("settings", {})
        for name in self._entry.get("needed_settings", ()):
            others = {key: value for key, value in settings.items() if key != name}
            yield self._make_refusal(f"without {name}", "settings", [name], settings=others)

    def _merge_arguments(self, call: JsonObject) -> JsonObject:
        """Return the arguments of a call: those of the smallest call with the differences."""
        arguments = {**self._calls[0]["arguments"], **call.get("arguments", {})}
        omitted = call.get("without", ())
        return {name: value for name, value in arguments.items() if name not in omitted}

    def _merge_request(self, call: JsonObject) -> JsonObject:
        """Return the request expected of a call: that of the smallest call with the differences."""
        smallest: JsonObject = self._calls[0]["request"]
        request = {**smallest, **call["request"]}
        for place in PLACES:
            request[place] = {**smallest.get(place, {}), **call["request"].get(place, {})}
        return request

    def _make_success(
        self,
        what: str,
        group: str,
        request: JsonObject,
        expect: JsonObject | None = None,
        **fields: Any,
    ) -> Case:
        kept = {"kept": self._entry["kept"]} if "kept" in self._entry else {}
        expect = {"is_error": False, "request": request, **(expect or {}), **kept}
        return self._make_case(what, group, expect, **{"reply": self._entry.get("reply"), **fields})

    def _make_refusal(self, what: str, group: str, contains: Sequence[str], **fields: Any) -> Case:
        expect = {"is_error": True, "request": None, "text": {"contains": contains}}
        return self._make_case(what, group, expect, **fields)

    def _make_case(self, what: str, group: str, expect: JsonObject, **fields: Any) -> Case:
        """Make a case; by default with the arguments of the smallest call."""
        tool = self._entry["tool"]
        usual = {"settings": self._entry.get("settings", {})}
        if self._calls:
            usual["arguments"] = self._calls[0]["arguments"]
        expect = {"operation": self._operation, **expect}
        return Case(f"{tool}: {what}", tool, group, expect=expect, **{**usual, **fields})

"""The cases of a package's tools: `tests/generated/cases.json`, an entry a tool, read into calls.

An entry has the smallest call in full, and of everything else only how it differs from that:

- `calls`: what is given and what must be sent; the first is the smallest one;
- `pages`: what a list that comes in pages answers in turn, and what must ask for each page;
- `refused`: arguments that must stop a call, so that nothing is sent;
- `failures`: what the API does wrong, by the names of `mcpgen.contract.failures`;
- `credentials`: which security schemes are configured, and what comes of it;
- `settings`: the environment variables that the tool reads parameters from, with their values;
  `needed_settings` are those that it cannot be called without;
- `untested`: what has no generated sample, and why;
- `attempts`, `timeout_seconds`, `kept`: what the manifest says of requests and results;
- `has_key`: whether requests carry an idempotency key, so that they are repeated.

An entry with an `id` is one case, written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mcpgen.contract.failures import RetryLimits, build_failure
from mcpgen.runtime.content import JsonObject

_PATIENCE = ("variables", "attempts", "timeout_seconds", "has_key")
_MORE_FOLLOW = "more follow"
PLACES = ("path", "query", "header", "cookie")


@dataclass(frozen=True, slots=True)
class Case:
    """One call: what is called, what the API answers, and what must come of it.

    `expect` has `operation`, `is_error` and `request` (null: none is sent), and where it matters
    `text` (`contains`, `not_contains`), `status` (of the API, as the result tells it), `attempts`
    (requests that are sent, else one), `waits_seconds` (at least, between them) and `kept` (what
    of a response is in the result, else all of it). Of several pages there are the `requests` for
    each, and the member `joined` that has the items of all in the result ("": it is their list).
    """

    id: str
    tool: str
    group: str  # "calls", "refused", "failures", "credentials", "settings" or "untested"
    arguments: JsonObject
    reply: JsonObject | None  # how the API's answer differs from the usual one
    expect: JsonObject
    untested: str = ""  # why there is no call: no sample was generated
    configured: tuple[str, ...] | None = None  # security schemes; None: all of them
    replies: Sequence[JsonObject] = ()  # what the API answers in turn, in place of `reply`
    settings: Mapping[str, str] = field(default_factory=dict)  # environment variables

    @classmethod
    def from_json(cls, entry: JsonObject) -> Case:
        """Read a case that is written out."""
        untested = entry.get("untested", "")
        configured = entry.get("configured")
        return cls(
            entry["id"],
            entry["tool"],
            "untested" if untested else entry.get("group", "calls"),
            entry.get("arguments", {}),
            entry.get("reply"),
            entry.get("expect", {}),
            untested,
            None if configured is None else tuple(configured),
            settings=entry.get("settings", {}),
        )

    def __str__(self) -> str:
        return self.id


def read_cases(entries: Iterable[JsonObject]) -> list[Case]:
    """Give every case of the entries of a `cases.json`, in their order."""
    cases: list[Case] = []
    for entry in entries:
        cases += [Case.from_json(entry)] if "id" in entry else _Entry(entry).cases()
    return cases


class _Entry:
    """The cases of one tool."""

    def __init__(self, entry: JsonObject) -> None:
        self._entry = entry
        self._tool: str = entry["tool"]
        self._operation: str = entry["operation"]
        self._calls: list[JsonObject] = entry.get("calls", [])

    def cases(self) -> Iterator[Case]:
        for told in self._entry.get("untested", ()):
            yield self._make_case(told["what"], "untested", {}, None, {}, untested=told["why"])
        if not self._calls:
            return
        usual = self._entry.get("reply")
        for call in self._calls:
            arguments = {**self._calls[0]["arguments"], **call["arguments"]}
            expect = {"is_error": False, "request": self._merge_request(call), **self._kept}
            yield self._make_case(call["what"], "calls", arguments, usual, expect)
        yield from self._make_page_cases()
        yield from self._make_refused_cases()
        for name in self._entry.get("failures", ()):
            reply, expect = build_failure(name, self._method, self._retry_limits)
            expect = {"request": self._merge_request(self._calls[0]), **expect}
            what = f"the API answers {name}" if name.isdigit() else name
            yield self._make_case(what, "failures", self._calls[0]["arguments"], reply, expect)
        for setting in self._entry.get("credentials", ()):
            yield self._make_credential_case(setting, usual)
        yield from self._make_settings_cases()

    @property
    def _method(self) -> str:
        stated: str = self._entry.get("method", "")
        return stated or self._operation.partition(" ")[0]

    @property
    def _retry_limits(self) -> RetryLimits:
        given = {key: self._entry[key] for key in _PATIENCE if key in self._entry}
        return RetryLimits(**given)

    @property
    def _kept(self) -> JsonObject:
        return {"kept": self._entry["kept"]} if "kept" in self._entry else {}

    def _make_page_cases(self) -> Iterator[Case]:
        """All pages of a list, and the first one alone though others follow."""
        pages = self._entry.get("pages")
        if pages is None:
            return
        smallest = self._calls[0]["arguments"]
        requests = [self._merge_request({"request": request}) for request in pages["requests"]]
        for what, count, most in (
            ("all pages, joined", len(requests), len(requests) + 1),
            ("one page, though more follow", 1, 1),
        ):
            expect = {
                "is_error": False,
                "request": requests[0],
                "requests": requests[:count],
                "joined": pages["items"],
                "text": {"contains" if count < len(requests) else "not_contains": [_MORE_FOLLOW]},
                **self._kept,
            }
            arguments = {**smallest, pages["argument"]: most}
            case = self._make_case(what, "calls", arguments, None, expect)
            yield replace(case, replies=pages["replies"][:count])

    def _make_refused_cases(self) -> Iterator[Case]:
        for refusal in self._entry.get("refused", ()):
            arguments = {**self._calls[0]["arguments"], **refusal.get("arguments", {})}
            for name in refusal.get("without", ()):
                arguments.pop(name, None)
            expect = {
                "is_error": True,
                "request": None,
                "text": {"contains": [refusal["says"]]},
            }
            yield self._make_case(refusal["what"], "refused", arguments, None, expect)

    def _make_credential_case(self, setting: JsonObject, usual: JsonObject | None) -> Case:
        configured = tuple(setting["configured"])
        what = f"with {' and '.join(configured) or 'no credential'}"
        arguments = self._calls[0]["arguments"]
        if "needs" in setting:
            text = {"contains": setting["needs"]}
            expect: JsonObject = {"is_error": True, "request": None, "text": text}
        else:
            request = {**self._merge_request(self._calls[0]), "security": setting["sends"]}
            expect = {"is_error": False, "request": request, **self._kept}
        return self._make_case(what, "credentials", arguments, usual, expect, configured=configured)

    def _make_settings_cases(self) -> Iterator[Case]:
        """Leave out each setting that the tool needs: nothing is sent, and it is named."""
        for name in self._entry.get("needed_settings", ()):
            text = {"contains": [name]}
            expect: JsonObject = {"is_error": True, "request": None, "text": text}
            arguments = self._calls[0]["arguments"]
            case = self._make_case(f"without {name}", "settings", arguments, None, expect)
            rest = {key: value for key, value in case.settings.items() if key != name}
            yield replace(case, settings=rest)

    def _merge_request(self, call: JsonObject) -> JsonObject:
        """What a call must send: what the smallest one does, with the differences."""
        smallest: JsonObject = self._calls[0]["request"]
        request = {**smallest, **call["request"]}
        for place in PLACES:
            request[place] = {**smallest.get(place, {}), **call["request"].get(place, {})}
        return request

    def _make_case(
        self,
        what: str,
        group: str,
        arguments: JsonObject,
        reply: JsonObject | None,
        expect: JsonObject,
        *,
        untested: str = "",
        configured: tuple[str, ...] | None = None,
    ) -> Case:
        expect = {"operation": self._operation, **expect}
        identity = f"{self._tool}: {what}"
        settings = self._entry.get("settings", {})
        return Case(
            identity,
            self._tool,
            group,
            arguments,
            reply,
            expect,
            untested,
            configured,
            settings=settings,
        )

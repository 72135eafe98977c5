"""Proposals of merged tools: operations that differ only in what their path begins with.

`/orgs/{org}/secrets` and `/repos/{owner}/{repo}/secrets` do the same for another owner, and so do
`/me` and `/users/{id}`. A group is proposed if the schemas, the arguments and the titles agree.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from mcpgen.ir.manifest_entries import MergedEntry, is_bulk_key
from mcpgen.ir.portable_profile import MAX_TOOL_NAME, TOOL_NAME
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.naming.words import snake_case
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.plan.tools.entries import names_of
from mcpgen.plan.tools.listing import list_names
from mcpgen.plan.tools.merged import DisagreementError, check_agreement, find_common_words
from mcpgen.plan.tools.verb_classes import DEEDS
from mcpgen.search.words import words

_VARIABLE = re.compile(r"\{[^{}]*\}")
_VERSION = re.compile(r"v?\d+(\.\d+)*((alpha|beta)\d*)?|api|rest|latest")
_OWN = frozenset({"@me", "current", "current_user", "me", "myself", "self", "~"})
_OWN_ALONE = frozenset({"account", "profile", "user"})  # before the collection of the caller
_PEOPLE = frozenset({"account", "customer", "member", "people", "person", "profile", "user"})
_TEXTS = frozenset({"description", "title", "example", "examples", "deprecated"})
_ROUNDS = 5
_MAX_MEMBERS = 8
_MIN_PROPERTIES = 2  # of a meaningful result
_LEAST_SHARED_ARGUMENTS = 0.75
_LEAST_SHARED_WORDS = 0.6
_FREE_ARGUMENTS = ("scope", "level", "belongs_to")
_PREPOSITIONS = frozenset({"a", "an", "by", "for", "from", "in", "of", "on", "the", "to"})
_NAME = re.compile(TOOL_NAME)
_CHOICE = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_GENERAL = frozenset(
    words(
        "a all an any authenticated by current for from given id in its me my of on one self single"
        " specific the their to user users your"
    )
)


class SimilarOperations(Struct, frozen=True):
    """Operations that can become one tool."""

    name: str  # of the merged tool
    argument: str
    members: Mapping[str, ToolPlan]  # by the value that selects each

    @property
    def entry(self) -> JsonObject:
        """The entry of the manifest."""
        operations = {choice: choose_reference(it) for choice, it in self.members.items()}
        argument = {} if self.argument == "scope" else {"argument": self.argument}
        return {**argument, "operations": operations}


class _Candidate(Struct, frozen=True):
    """A tool whose path is split into the part that may differ and the part that must agree."""

    tool: ToolPlan
    prefix: tuple[str, ...]
    suffix: tuple[str, ...]
    is_own: bool

    @property
    def owner(self) -> str:
        """The start of the path as a word: "org" for /orgs/{org}; "me" for the caller."""
        if self.is_own:
            return "me"
        fixed = [part for part in self.prefix if "{" not in part]
        is_named = bool(fixed) and not _VERSION.fullmatch(fixed[-1].lower())
        return _make_singular(snake_case(fixed[-1])) if is_named else ""

    @property
    def suffix_words(self) -> list[str]:
        """The words of what must agree; of a user, the word for users."""
        fixed = [part for part in self.suffix if "{" not in part]
        return words(" ".join(fixed)) or words("user")


_Suffix = tuple[str, ...]


def find_similar(plan: ServerPlan) -> list[SimilarOperations]:
    """Return the groups of similar operations, by name. Each operation is in one at most."""
    tools = [tool for tool in plan.tools if _can_merge(tool)]
    groups: dict[tuple[str, str, _Suffix], list[_Candidate]] = {}
    for tool in tools:
        operation = tool.operation
        for candidate, suffix in _split(tool):
            groups.setdefault((operation.source, operation.method, suffix), []).append(candidate)
    finding = _Finding(plan)
    taken: set[str] = set()
    in_order = sorted(groups.items(), key=lambda item: (-len(item[0][2]), item[0]))
    for _, candidates in in_order:
        free = [it for it in candidates if it.tool.name not in taken]
        for found in finding.find(free):
            taken.update(tool.name for tool in found.members.values())
    return sorted(finding.found, key=lambda group: group.name)


def choose_reference(tool: ToolPlan) -> str:
    """Return the operationId, or the key if the operationId looks like a key for many."""
    name, *_ = names_of(tool.operation)
    return tool.operation.key if is_bulk_key(name) else name


def _can_merge(tool: ToolPlan) -> bool:
    operation = tool.operation
    is_plain = tool.exposed_as == "tool" and tool.view is None and not tool.aliases
    return is_plain and operation.declared is None and not operation.deprecated


def _split(tool: ToolPlan) -> Iterator[tuple[_Candidate, _Suffix]]:
    """Yield each split of a path behind an owner: `{org}`, `me`."""
    segments = tuple(part for part in tool.operation.path.split("/") if part)
    for end in range(1, len(segments) + 1):
        prefix, suffix = segments[:end], segments[end:]
        last = prefix[-1].lower()
        if suffix and _is_variable(suffix[0]):
            continue
        is_own = last in _OWN or (last in _OWN_ALONE and len(_list_fixed(prefix)) == 1)
        if is_own or _is_variable(last):
            if suffix:
                yield _Candidate(tool, prefix, suffix, is_own), suffix
            elif is_own or _is_person(prefix):
                yield _Candidate(tool, prefix, (), is_own), ("", *_find_base(prefix))


def _is_variable(segment: str) -> bool:
    return _VARIABLE.fullmatch(segment) is not None


def _list_fixed(prefix: Iterable[str]) -> list[str]:
    """Return the segments that name something: no variables, versions or `api`."""
    return [it for it in prefix if "{" not in it and not _VERSION.fullmatch(it.lower())]


def _is_person(prefix: Sequence[str]) -> bool:
    return len(prefix) > 1 and _make_singular(prefix[-2].lower()) in _PEOPLE


def _find_base(prefix: Sequence[str]) -> tuple[str, ...]:
    """Return the part of the path before the collection of users and its item, or before `me`."""
    rest = prefix[:-1]
    if rest and _make_singular(rest[-1].lower()) in _PEOPLE:
        return tuple(rest[:-1])
    return tuple(rest)


_PLURALS = (
    ("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("s", ""),
)  # fmt: skip


def _make_singular(noun: str) -> str:
    if noun.endswith(("ss", "us")):
        return noun
    for ending, other in _PLURALS:
        if noun.endswith(ending) and len(noun) > len(ending) + 1:
            return noun.removesuffix(ending) + other
    return noun


class _Finding:
    """The groups that are found for one server, and the names in use."""

    def __init__(self, plan: ServerPlan) -> None:
        self.found: list[SimilarOperations] = []
        self._results = _Results(plan.api.schemas)
        self._names = list_names((*plan.tools, *plan.merged, *plan.workflows))

    def find(self, candidates: Sequence[_Candidate]) -> Iterator[SimilarOperations]:
        """Yield and store the groups among tools whose paths end alike."""
        if len(candidates) < 2:
            return  # as for most paths
        by_result: dict[str, list[_Candidate]] = {}
        for candidate in candidates:
            by_result.setdefault(self._results.describe(candidate.tool), []).append(candidate)
        for alike in by_result.values():
            group = self._agree(_drop_repeated_owners(alike))
            if group is not None:
                self._names.add(group.name)
                self.found.append(group)
                yield group

    def _agree(self, candidates: Sequence[_Candidate]) -> SimilarOperations | None:
        """Return the group of the tools that agree with the first of them."""
        if len(candidates) < 2 or not _is_comparable(candidates[0].tool):
            return None
        scope_words = {word for it in candidates for part in it.prefix for word in words(part)}
        first, *others = candidates
        alike = [first, *(it for it in others if _is_alike(first, it, scope_words))]
        if not 2 <= len(alike) <= _MAX_MEMBERS or not all(map(_names_path_end, alike)):
            return None
        members = {it.owner: it.tool for it in alike}
        argument = next((it for it in _FREE_ARGUMENTS if not _is_argument(it, alike)), "")
        while argument and len(members) >= 2:
            name = self._choose_name(alike, list(members.values()), scope_words)
            if not name:
                return None
            entry = MergedEntry({choice: it.key for choice, it in members.items()}, argument)
            try:
                check_agreement(entry, members)
            except DisagreementError as error:
                del members[error.choice]
            else:
                return SimilarOperations(name, argument, members)
        return None

    def _choose_name(
        self, alike: Sequence[_Candidate], tools: Sequence[ToolPlan], scope_words: Collection[str]
    ) -> str:
        """Return a free name: of the words that the names share, or of the verb and the path."""
        shared = tools[0].name.split("_")
        for tool in tools[1:]:
            shared = find_common_words(shared, tool.name.split("_"))
        agreed = {*alike[0].suffix_words}
        kept = [it for it in shared if not {*words(it)} & ({*scope_words} - agreed)]
        while kept and kept[-1] in _PREPOSITIONS:
            kept = kept[:-1]
        is_descriptive = len(kept) >= 2 and bool({*words(" ".join(kept))} & agreed)
        begins_alike = bool(kept) and all(it.name.startswith(kept[0]) for it in tools)
        if not (is_descriptive and begins_alike) or not _PREPOSITIONS.isdisjoint(kept):
            verb = _find_verb(tools[0])
            kept = [verb, *_describe_suffix(alike[0], verb)]
        plain = "_".join(kept)
        free = (it for it in (plain, f"{plain}_by_scope") if it not in self._names)
        return next((it for it in free if _NAME.fullmatch(it) and len(it) <= MAX_TOOL_NAME), "")


def _find_verb(tool: ToolPlan) -> str:
    """Return the verb of a tool: the first word of its name, or of its title: "bulk_delete"."""
    first, *others = (snake_case(word).split("_")[0] for word in tool.title.split(maxsplit=2)[:2])
    forms = (tool.name.split("_")[0], first.removesuffix("s"), first.removesuffix("es"))
    verb = next((it for it in forms if it in DEEDS), first)
    return "_".join([verb, *others]) if verb not in DEEDS and DEEDS.keys() & others else verb


def _describe_suffix(candidate: _Candidate, verb: str) -> list[str]:
    """Return the words of the last segment that names a thing: "secrets", or one "secret"."""
    suffix = candidate.suffix or ("user",)
    places = [n for n, part in enumerate(suffix) if "{" not in part and part.lower() != verb]
    places = [n for n in places if suffix[n].lower() not in DEEDS] or places
    if not places:
        return []
    noun = snake_case(suffix[places[-1]])
    is_one = any(map(_is_variable, suffix[places[-1] + 1 :]))
    return (_make_singular(noun) if is_one else noun).split("_")


def _names_path_end(candidate: _Candidate) -> bool:
    """Return whether the title names the end of the path, besides its verb.

    `POST /workflows/{id}/transfer` acts on what would be the owner.
    """
    _, *others = words(candidate.tool.title) or [""]
    return not {*others}.isdisjoint(candidate.suffix_words)


class _Results:
    """Results of tools as keys: the same for the same schema, whatever its names and texts.

    Listed schemas do not suffice: they are cut where they nest deeply.
    """

    def __init__(self, schemas: Mapping[str, JsonSchema]) -> None:
        self._keys = dict.fromkeys(schemas, "")
        plain = {name: _simplify(schema) for name, schema in schemas.items()}
        kinds = 0
        for _ in range(_ROUNDS):  # each one looks through one more reference
            self._keys = {name: self._hash(schema) for name, schema in plain.items()}
            before, kinds = kinds, len({*self._keys.values()})
            if kinds == before:  # what was alike is alike behind one more reference, so behind all
                break

    def describe(self, tool: ToolPlan) -> str:
        """Return the result of a tool as a key."""
        found, is_sure = list_response_schemas(tool.operation)
        return self._hash(_simplify([tool.result_key, is_sure, *found]))

    def _hash(self, plain: object) -> str:
        """Return the key of a simplified value, with the current keys of what it refers to."""
        text = json.dumps(plain, sort_keys=True, default=self._replace_reference)
        return hashlib.sha256(text.encode()).hexdigest()

    def _replace_reference(self, value: object) -> JsonValue:
        if isinstance(value, _Reference):
            return ["$ref", self._keys.get(value.to.rpartition("/")[2], value.to)]
        return str(value)


class _Reference(Struct, frozen=True):
    to: str  # "#/components/schemas/Pet"


def _simplify(value: JsonValue, *, are_names: bool = False) -> object:
    """Return a schema for comparison: without descriptions, each `$ref` as a `_Reference`."""
    if isinstance(value, list):
        return [_simplify(it) for it in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str) and not are_names:
        return _Reference(reference)
    return {
        key: _simplify(it, are_names=not are_names and key in {"properties", "$defs"})
        for key, it in value.items()
        if are_names or key not in _TEXTS
    }


def _drop_repeated_owners(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the candidates whose owner no other has: versions and areas are no owners."""
    counts = Counter(it.owner for it in candidates)
    return [it for it in candidates if counts[it.owner] == 1 and _CHOICE.match(it.owner)]


def _is_comparable(tool: ToolPlan) -> bool:
    """Whether agreeing results mean anything: a result with members, or a change without one."""
    if tool.output_schema is None:
        operation = tool.operation
        return tool.effect != "read" and bool(operation.summary or operation.description)
    return _count_properties(tool.output_schema) >= _MIN_PROPERTIES


def _count_properties(schema: JsonValue) -> int:
    if isinstance(schema, list):
        return sum(map(_count_properties, schema))
    if not isinstance(schema, dict):
        return 0
    properties = schema.get("properties")
    own = len(properties) if isinstance(properties, dict) else 0
    return own + sum(map(_count_properties, schema.values()))


def _is_alike(one: _Candidate, other: _Candidate, scope_words: Collection[str]) -> bool:
    """Whether two tools do the same for another owner, by their arguments and their titles."""
    mine, theirs = _list_common_arguments(one), _list_common_arguments(other)
    shared = len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0
    if shared < _LEAST_SHARED_ARGUMENTS:
        return False
    own_words, other_words = (_list_title_words(it.tool, scope_words) for it in (one, other))
    if own_words[:1] != other_words[:1]:
        return False
    together = len({*own_words} | {*other_words})
    return (
        len({*own_words} & {*other_words}) / together >= _LEAST_SHARED_WORDS if together else False
    )


def _list_common_arguments(candidate: _Candidate) -> set[str]:
    """Return the arguments that do not belong to the owner."""
    owner = {part.strip("{}") for part in candidate.prefix if _is_variable(part)}
    return {
        it.name
        for it in candidate.tool.arguments
        if not (it.location == "path" and it.wire_name in owner)
    }


def _list_title_words(tool: ToolPlan, scope_words: Collection[str]) -> list[str]:
    """Return the words of a title: the verb, and the words that are not about the owner."""
    first, *others = words(tool.title) or [""]
    return [first, *(it for it in others if it not in scope_words and it not in _GENERAL)]


def _is_argument(name: str, candidates: Iterable[_Candidate]) -> bool:
    return any(name in it.tool.input_schema.get("properties", {}) for it in candidates)

"""Planning of views: which part of a result clients with MCP Apps show, and as what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import Operation
from mcpgen.ir.manifest_entries import EffectiveEntry, ViewEntry, ViewKind
from mcpgen.ir.tool_plan import ResultPolicies, ViewColumn, ViewPlan
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.plan.naming.words import is_latin, split_words
from mcpgen.plan.schemas.output_profile import ITEMS, NoMemberError, Projection, split_path
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.plan.tools.results import At
from mcpgen.text.prose import plain_line, shorten_at_sentence

_LISTS = frozenset({"chart", "gallery", "table"})
_MAX_COLUMNS = 8  # that are chosen without the manifest
_MAX_SERIES = 4
_MAX_LABEL = 60
_NUMBERS = frozenset({"integer", "number"})
_SCALARS = frozenset({"boolean", "string", *_NUMBERS})
_TIMES = frozenset({"date", "date-time"})
_PICTURES = frozenset(
    "avatar banner cover icon image img logo photo picture poster thumbnail".split()
)
_ACRONYMS = frozenset({"cpc", "cpm", "ctr", "id", "ip", "isbn", "sku", "uri", "url"})


def plan_view(
    operation: Operation,
    effective: EffectiveEntry,
    policies: ResultPolicies,
    result_key: str,
    responses: Shapes,
    at: At,
) -> ViewPlan | None:
    """Return the view of an operation's results; None if the manifest requests none.

    `result_key` is the member that contains a result which is not an object.

    Raises:
        OperationRefusedError: the view does not fit the operation's result.
    """
    view = effective.entry.view
    if view is None:
        return None
    return _ViewPlanning(operation, view, responses, at).plan(
        policies, result_key, effective.entry.expose
    )


class _ViewPlanning:
    """Planning of the view of one operation."""

    def __init__(
        self, operation: Operation, view: ViewKind | ViewEntry, responses: Shapes, at: At
    ) -> None:
        self._operation = operation
        self._is_mapping = isinstance(view, ViewEntry)
        self._entry = view if isinstance(view, ViewEntry) else ViewEntry(kind=view)
        self._responses = responses
        self._projection = Projection(responses)
        self._at = at

    def plan(self, policies: ResultPolicies, result_key: str, exposed_as: str) -> ViewPlan:
        kind = self._entry.kind
        if exposed_as not in {"tool", "off"}:
            raise self._make_refusal(
                f"a {exposed_as} has no view", "leave `view` out: only tools have views"
            )
        if self._entry.image_origins and kind != "gallery":
            raise self._make_refusal(
                f"a {kind} shows no pictures",
                "leave `image_origins` out, or use `kind: gallery`",
                "image_origins",
            )
        if kind == "form":
            return self._plan_form()
        declared, _ = list_response_schemas(self._operation)
        if not declared:
            raise self._make_refusal(
                "its description has no JSON response to show",
                "leave `view` out, or use `form`, which shows the arguments",
            )
        whole = [self._projection.project(declared, dict(policies.select))]
        path = self._find_items(whole)
        shown = self._follow(whole, path, "items")
        if kind in _LISTS:
            if not self._is_list(shown):
                where = f"`{path}`" if path else "its response"
                raise self._make_refusal(
                    f"{where} is not a list, as a {kind} needs",
                    "name the member with the list as `items`, or use `record`",
                    "items",
                )
            shown = self._projection.find_inside(shown, ITEMS, path)
        elif self._is_list(shown):
            raise self._make_refusal(
                "it returns a list, and a record is one object", "use `table`", "kind"
            )
        steps = split_path(path)
        return ViewPlan(
            kind,
            (result_key, *steps) if result_key else steps,
            self._plan_columns(shown),
            tuple(origin.rstrip("/") for origin in self._entry.image_origins),
        )

    def _plan_form(self) -> ViewPlan:
        for setting in ("items", "members"):
            if getattr(self._entry, setting):
                raise self._make_refusal(
                    f"a form shows all arguments, and has no `{setting}`",
                    f"leave `{setting}` out",
                    setting,
                )
        return ViewPlan("form")

    def _find_items(self, whole: Sequence[JsonSchema]) -> str:
        """Return the path of the list or the object to show."""
        path = self._entry.items
        if path:
            if ITEMS in split_path(path):
                raise self._make_refusal(
                    f"`{path}` leads to more than one value", "name one member: `data`", "items"
                )
            return path
        if self._entry.kind not in _LISTS or self._is_list(whole):
            return ""
        lists = [name for name, schema in self._iterate_members(whole) if self._has_items(schema)]
        if len(lists) != 1:
            found = ", ".join(f"`{name}`" for name in lists) or "none"
            raise self._make_refusal(
                f"its response has no single list to show (lists: {found})",
                "name the member with the list: `view: {kind: table, items: data}`",
            )
        return lists[0]

    def _plan_columns(self, shown: Sequence[JsonSchema]) -> tuple[ViewColumn, ...]:
        """Return the members to show of an item of the list, or of the object."""
        if self._entry.members:
            return tuple(
                self._make_column(split_path(path), self._follow_member(shown, path, number))
                for number, path in enumerate(self._entry.members)
            )
        if self._entry.kind == "record":
            return ()
        members = [
            self._make_column((name,), [schema]) for name, schema in self._iterate_members(shown)
        ]
        chosen = _CHOICES[self._entry.kind]([it for it in members if it.type in _SCALARS])
        if not chosen:
            raise self._make_refusal(
                f"no members of the list are recognized as those of a {self._entry.kind}",
                "name them: `members: [...]`",
            )
        return tuple(chosen)

    def _follow_member(
        self, schemas: Sequence[JsonSchema], path: str, number: int
    ) -> Sequence[JsonSchema]:
        tokens = ("members", str(number))
        if ITEMS in split_path(path):
            raise self._make_refusal(
                f"`{path}` leads to more than one value",
                f"show `{path.split('[]', maxsplit=1)[0]}`",
                *tokens,
            )
        return self._follow(schemas, path, *tokens)

    def _follow(
        self, schemas: Sequence[JsonSchema], path: str, *tokens: str
    ) -> Sequence[JsonSchema]:
        led = ""
        for step in split_path(path):
            try:
                schemas = self._projection.find_inside(schemas, step, led)
            except NoMemberError as error:
                raise self._make_refusal(str(error), error.help, *tokens) from None
            led = f"{led}.{step}".lstrip(".")
        return schemas

    def _make_column(self, path: tuple[str, ...], schemas: Sequence[JsonSchema]) -> ViewColumn:
        shapes = [self._responses.of(schema) for schema in schemas]
        types = {name for shape in shapes for name in shape.types if name != "null"}
        formats = {str(shape.keywords.get("format", "")) for shape in shapes}
        title = plain_line(str(shapes[0].keywords.get("title", "")))
        return ViewColumn(
            path,
            shorten_at_sentence(title, _MAX_LABEL) or " ".join(map(_write_label, path)),
            types.pop() if len(types) == 1 else "",
            formats.pop() if len(formats) == 1 else "",
        )

    def _iterate_members(self, schemas: Sequence[JsonSchema]) -> Iterator[tuple[str, JsonSchema]]:
        """Yield the described members of an object, in the order of the document."""
        seen: set[str] = set()
        for schema in schemas:
            keywords = self._responses.of(schema).keywords
            for name, member in keywords.get("properties", {}).items():
                if name not in seen:
                    seen.add(name)
                    yield name, member
            for choice in ("anyOf", "oneOf"):
                variants = [it for it in keywords.get(choice, ()) if it not in schemas]
                yield from (
                    (name, member)
                    for name, member in self._iterate_members(variants)
                    if name not in seen
                )

    def _is_list(self, schemas: Sequence[JsonSchema]) -> bool:
        return any("array" in self._responses.of(schema).types for schema in schemas)

    def _has_items(self, schema: JsonSchema) -> bool:
        """Return whether a member is a list of something else than texts or numbers."""
        if not self._is_list([schema]):
            return False
        types = self._responses.of(self._responses.of(schema).keywords.get("items", True)).types
        return not types or not _SCALARS.issuperset(types)

    def _make_refusal(self, message: str, help: str, *inside: str) -> OperationRefusedError:
        tokens = ("view", *(inside if self._is_mapping else ()))
        return OperationRefusedError(
            "view-entry", f"`{self._operation.key}`: {message}", self._at(*tokens), help
        )


def _write_label(name: str) -> str:
    """Write a member's name as words: "publishedOn" returns "Published on"."""
    words = split_words(name) if is_latin(name) else ()
    if not words:
        return name[:_MAX_LABEL]
    label = " ".join(word.upper() if word in _ACRONYMS else word for word in words)
    return (label[0].upper() + label[1:])[:_MAX_LABEL]


def _choose_for_table(members: Sequence[ViewColumn]) -> Sequence[ViewColumn]:
    return members[:_MAX_COLUMNS]


def _choose_for_chart(members: Sequence[ViewColumn]) -> Sequence[ViewColumn]:
    """Choose a time or a name, and the numbers over it."""
    texts = [it for it in members if it.type == "string"]
    axis = next((it for it in texts if it.format in _TIMES), texts[0] if texts else None)
    numbers = [it for it in members if it.type in _NUMBERS and "id" not in split_words(it.path[0])]
    return [axis, *numbers[:_MAX_SERIES]] if axis is not None and numbers else ()


def _choose_for_gallery(members: Sequence[ViewColumn]) -> Sequence[ViewColumn]:
    """Choose a picture and the text below it."""
    texts = [it for it in members if it.type == "string"]
    pictures = [it for it in texts if not _PICTURES.isdisjoint(split_words(it.path[0]))]
    others = [it for it in texts if it not in pictures and "id" not in split_words(it.path[0])]
    return [pictures[0], *others[:2]] if pictures else ()


_CHOICES = {
    "chart": _choose_for_chart,
    "gallery": _choose_for_gallery,
    "table": _choose_for_table,
}

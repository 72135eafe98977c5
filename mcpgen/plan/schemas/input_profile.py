"""The input profile: schemas of arguments that every client and model accepts.

One type per schema, `items` in every array, patterns without look-around, common formats, short
enums, and only `anyOf` for choices. Descriptions repeat bounds, since some clients drop keywords.
Rules that a listed schema omits are described in words and validated when the tool is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mcpgen.ir.portable_profile import FORMATS, MAX_ENUM, MAX_PATTERN, NOT_IN_EVERY_ENGINE
from mcpgen.jsonschema.direction import Shape
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type
from mcpgen.plan.naming.words import is_latin
from mcpgen.plan.schemas.schema_part import SchemaPart, make_branch, make_leaf
from mcpgen.plan.tools.descriptions import prefix_wire_name
from mcpgen.text.prose import plain_line, shorten_at_sentence
from mcpgen.text.secret_values import REDACTED, has_token_shape

FILE_IN_WORDS = "The content of a file: base64, or a `data:`, `file:` or resource URI."
Build = Callable[[JsonSchema], SchemaPart]

_MAX_DESCRIPTION = 400
_MAX_EXAMPLE = 60
_WORD = re.compile(r"\w")
_MAX_COMPARED = 100
_NOT_EVERYWHERE = re.compile(NOT_IN_EVERY_ENGINE)
_ONLY_CHECKED = frozenset(
    """
    not if then else contains minContains maxContains prefixItems patternProperties propertyNames
    dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties minProperties
    maxProperties allOf
    """.split()
)
_BY_TYPE: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems", "uniqueItems"),
}
_BOUNDS = frozenset().union(*_BY_TYPE.values())
_BESIDE_A_CHOICE = frozenset(
    _BOUNDS | {"enum", "pattern", "uniqueItems", "additionalProperties", "required"}
)
_ANY = "Any JSON value."


class InputProfile:
    """Builds listed schemas of arguments. `keeps_null` is for requests where null is not absence,
    as in a PATCH; `offered` has the names that properties have instead of their wire names.
    """

    grows_with_depth = False  # a small part may be shorter than the note that replaces it

    def __init__(self, *, keeps_null: bool, offered: Mapping[str, str]) -> None:
        self.keeps_null = keeps_null
        self._offered = offered

    def description(self, schema: JsonObject) -> str:
        """Return the listed description of a schema."""
        text = schema.get("description") or ""
        listed = shorten_at_sentence(plain_line(text), _MAX_DESCRIPTION) if text else ""
        return f"[deprecated] {listed}".strip() if schema.get("deprecated") is True else listed

    def cut(self, shape: Shape) -> SchemaPart:
        """Return the replacement of a part that is nested too deeply."""
        kind = shape.types[0] if len(shape.types) == 1 else ""
        sentences = [self.description(shape.keywords), "Nests further than is listed here."]
        schema: JsonObject = {"description": " ".join(filter(None, sentences))}
        if kind == "array":
            schema |= {"type": "array", "items": {"description": _ANY}}
        elif kind:
            schema["type"] = kind
        return make_leaf(schema, is_exact=False)

    def build(self, shape: Shape, build: Build) -> SchemaPart:
        """Return one level, with children from `build`."""
        keywords = shape.keywords
        sentences = [self.description(keywords)]
        is_exact = shape.is_exact and _ONLY_CHECKED.isdisjoint(keywords)
        if not is_exact:
            sentences += self._describe_rules(keywords)
        types = list(shape.types)
        is_nullable = "null" in types and len(types) > 1
        if is_nullable:
            types.remove("null")
        choice = find_choice(keywords)
        if choice:
            built = self._build_choice_keyword(keywords, types, choice, build)
        elif len(types) > 1:
            parts = [self._build_type(keywords, name, build) for name in types]
            built = _build_choice(parts)
        elif types:
            built = self._build_type(keywords, types[0], build)
        elif "enum" in keywords:
            built = self._build_type(keywords, "", build)
        else:
            built = make_leaf({"description": _ANY})
        sentences.append(built.schema.get("description", ""))
        if is_nullable:
            built = _build_choice([built, make_leaf({"type": "null"})])
        if "default" in keywords and _is_short(keywords["default"]):
            built = _with(built, {"default": keywords["default"]})
        if not is_exact:
            built = built.mark_inexact()
        return built.describe(_join_sentences(sentences))

    def _build_type(self, keywords: JsonObject, name: str, build: Build) -> SchemaPart:
        if name in ("object", "array"):
            built = (self._build_object if name == "object" else self._build_array)(keywords, build)
            # The values are only validated.
            return built.mark_inexact() if "enum" in keywords else built
        schema: JsonObject = {"type": name} if name else {}
        sentences: list[str] = []
        is_exact = True
        if "enum" in keywords:
            values = [value for value in keywords["enum"] if _belongs(value, name)]
            is_exact = self._build_enum(schema, values, sentences)
        else:
            schema |= {key: keywords[key] for key in _BY_TYPE.get(name, ()) if key in keywords}
            sentences.append(_describe_bounds(keywords, name))
            if name == "string":
                is_exact = self._build_string(schema, keywords, sentences)
            if "format" not in schema:
                sentences.append(_describe_example(keywords))
        if any(sentences):
            schema["description"] = _join_sentences(sentences)
        return make_leaf(schema, is_exact=is_exact)

    @staticmethod
    def _build_enum(schema: JsonObject, values: list[JsonValue], sentences: list[str]) -> bool:
        if len(values) <= MAX_ENUM:
            schema["enum"] = values
            return True
        some = ", ".join(f"`{value}`" for value in values[:5])
        sentences.append(f"One of {len(values)} values, such as {some}.")
        return False

    @staticmethod
    def _build_string(schema: JsonObject, keywords: JsonObject, sentences: list[str]) -> bool:
        if keywords.get("format") in FORMATS:
            schema["format"] = keywords["format"]
        elif keywords.get("format") == "byte" or keywords.get("contentEncoding") == "base64":
            sentences.append("Base64.")
        elif keywords.get("format") == "binary":
            sentences.append(FILE_IN_WORDS)
        pattern = keywords.get("pattern")
        if not pattern:
            return True
        if len(pattern) <= MAX_PATTERN and not _NOT_EVERYWHERE.search(pattern):
            schema["pattern"] = pattern
            return True
        if len(pattern) <= 100:
            sentences.append(f"Matches the regular expression {pattern}")
        return False

    @staticmethod
    def _build_array(keywords: JsonObject, build: Build) -> SchemaPart:
        own = {"type": "array"}
        own |= {key: keywords[key] for key in _BY_TYPE["array"] if key in keywords}
        bounds = _describe_bounds(keywords, "array")
        if bounds:
            own["description"] = bounds
        child = build(keywords.get("items", True))
        return make_branch({**own, "items": child.schema}, own, [child], levels=1, is_exact=True)

    def _build_object(self, keywords: JsonObject, build: Build) -> SchemaPart:
        own: JsonObject = {"type": "object"}
        is_exact = True
        required = list(keywords.get("required", ()))
        properties: dict[str, SchemaPart] = {}
        declared = keywords.get("properties", {})
        extra = keywords.get("additionalProperties", True)
        others = extra if isinstance(extra, dict) else True
        for name, schema in sorted({**dict.fromkeys(required, others), **declared}.items()):
            if schema is False and name not in required:
                is_exact &= extra is False  # it must be omitted; otherwise only checked
                continue
            child = build(schema)
            if name not in required and not self.keeps_null:
                child = _drop_null(child)
            if not is_latin(name):
                description = prefix_wire_name(child.schema.get("description", ""), name)
                child = child.describe(description)
            properties[self._rename(name)] = child
        if required:
            own["required"] = [self._rename(name) for name in required]
        children = list(properties.values())
        if extra is False and not declared.keys() >= set(required):
            is_exact = False  # no value fits, which is shown as one that its writer meant
        if extra is False:
            own["additionalProperties"] = False
        schema = dict(own)
        if properties:
            schema["properties"] = {name: child.schema for name, child in properties.items()}
        if isinstance(extra, dict) and extra:
            child = build(extra)
            schema["additionalProperties"] = child.schema
            children.append(child)
        if extra is False and not is_exact:
            del schema["additionalProperties"]
        levels = 1 if children else 0
        return make_branch(
            schema, own, children, levels=levels, is_exact=is_exact, names=properties
        )

    def _build_choice_keyword(
        self, keywords: JsonObject, types: list[str], choice: str, build: Build
    ) -> SchemaPart:
        members = keywords[choice]
        base = None
        if "properties" in keywords or "items" in keywords:
            base = self._build_type(keywords, types[0] if types else "object", build)
        if base is not None and all(_only_requires(member) for member in members):
            needs = [
                " and ".join(f"`{self._rename(name)}`" for name in member.get("required", ()))
                for member in members
                if isinstance(member, dict)
            ]
            sentence = f"Give {', or '.join(need for need in needs if need)}."
            return base.mark_inexact().describe(
                _join_sentences([base.schema.get("description", ""), sentence])
            )
        parts = [
            self._build_member(member, types, build) for member in members if member is not False
        ]
        if not parts:  # nothing fits, which is only checked
            return make_leaf({"description": _ANY}, is_exact=False)
        is_exact = choice == "anyOf" or _are_disjoint(parts)
        if base is None and keywords.keys() & _BESIDE_A_CHOICE:
            is_exact = False
        if types and not all(part.schema.get("type") in types for part in parts):
            is_exact = False
        built = _build_choice(parts)
        if base is not None:
            schema = {**base.schema, **built.schema}
            built = make_branch(schema, {}, [base, built], levels=0, is_exact=is_exact)
        return built if is_exact else built.mark_inexact()

    def _rename(self, name: str) -> str:
        return self._offered.get(name, name)

    def _describe_rules(self, keywords: JsonObject) -> list[str]:
        sentences = []
        if "prefixItems" in keywords:
            sentences.append(
                f"The first {len(keywords['prefixItems'])} items have types of their own."
            )
        for name, others in sorted(keywords.get("dependentRequired", {}).items()):
            needed = ", ".join(f"`{self._rename(other)}`" for other in others)
            sentences.append(f"`{self._rename(name)}` needs {needed}.")
        if "minProperties" in keywords:
            sentences.append(f"At least {_count_noun(keywords['minProperties'], 'member')}.")
        if "maxProperties" in keywords:
            sentences.append(f"At most {_count_noun(keywords['maxProperties'], 'member')}.")
        return sentences or ["More rules apply; a call that breaks one is told which."]

    @staticmethod
    def _build_member(member: JsonSchema, types: list[str], build: Build) -> SchemaPart:
        built = build(member)
        if not {"type", "$ref", "anyOf"} & built.schema.keys() and len(types) == 1:
            return _with(built, {"type": types[0]})
        return built


def _with(built: SchemaPart, more: JsonObject) -> SchemaPart:
    schema = {**built.schema, **more}
    return SchemaPart(
        schema, built.size + make_leaf(more).size, built.height, built.names, built.is_exact
    )


def _build_choice(parts: list[SchemaPart]) -> SchemaPart:
    """Return a flat choice without repetitions, or its only member."""
    flat: list[SchemaPart] = []
    for part in parts:
        if part.schema.keys() <= {"anyOf", "description"} and "anyOf" in part.schema:
            flat += [
                SchemaPart(member, make_leaf(member).size, part.height, part.names, part.is_exact)
                for member in part.schema["anyOf"]
            ]
        else:
            flat.append(part)
    distinct = _drop_repeated(flat)
    joined = _join_enums(distinct)
    if joined is not None:
        return joined
    if len(distinct) == 1:
        return distinct[0]
    members = [part.schema for part in distinct]
    return make_branch({"anyOf": members}, {"anyOf": []}, distinct, levels=0, is_exact=True)


def _drop_repeated(parts: list[SchemaPart]) -> list[SchemaPart]:
    """Remove repeated parts; of many with the same two first levels, only some are compared."""
    distinct: list[SchemaPart] = []
    alike: dict[str, list[JsonObject]] = {}
    for part in parts:
        looks = repr(sorted((key, _summarize(value)) for key, value in part.schema.items()))
        seen = alike.setdefault(looks, [])
        if part.schema not in seen:
            distinct.append(part)
            if len(seen) < _MAX_COMPARED:
                seen.append(part.schema)
    return distinct


def _summarize(value: JsonValue) -> str:
    """Return a text that is equal for equal values, with bounded work."""
    if isinstance(value, dict):
        return repr(sorted(value))
    if isinstance(value, list):
        return repr([str(it) for it in value if not isinstance(it, dict | list)])
    return str(value)


def _join_enums(parts: list[SchemaPart]) -> SchemaPart | None:
    """Return a choice between constants of one type as one enum, or None."""
    types = {part.schema.get("type") for part in parts}
    if len(parts) < 2 or len(types) != 1:
        return None
    if not all(part.schema.keys() <= {"type", "enum", "description"} for part in parts):
        return None
    if not all("enum" in part.schema for part in parts):
        return None
    values = [value for part in parts for value in part.schema["enum"]]
    kind = types.pop()
    schema: JsonObject = {"type": kind} if kind else {}
    schema["enum"] = list(dict.fromkeys(values))
    meanings = [
        f"`{part.schema['enum'][0]}`: {part.schema['description'].rstrip('.')}"
        for part in parts
        if "description" in part.schema and len(part.schema["enum"]) == 1
    ]
    if meanings:
        schema["description"] = shorten_at_sentence("; ".join(meanings), _MAX_DESCRIPTION)
    return make_leaf(schema, is_exact=all(part.is_exact for part in parts))


def _are_disjoint(parts: list[SchemaPart]) -> bool:
    """Return whether a value can fit at most one of the members, so that `anyOf` equals `oneOf`."""
    types = [part.schema.get("type") for part in parts]
    if None in types or {"integer", "number"} <= set(types):
        return False
    return len(set(types)) == len(types)


def _drop_null(built: SchemaPart) -> SchemaPart:
    """Return an optional property without null, which means the same as its absence."""
    members = built.schema.get("anyOf")
    if not members or {"type": "null"} not in members:
        return built
    others = [member for member in members if member != {"type": "null"}]
    rest = {key: value for key, value in built.schema.items() if key != "anyOf"}
    if rest.get("default", 0) is None:
        del rest["default"]
    schema = {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}
    return SchemaPart(schema, built.size, built.height, built.names, is_exact=False)


def find_choice(keywords: JsonObject) -> str:
    """Return the one of `anyOf` and `oneOf` that a schema has, `anyOf` first; "" without both."""
    if "anyOf" in keywords:
        return "anyOf"
    return "oneOf" if "oneOf" in keywords else ""


def _belongs(value: Any, type_name: str) -> bool:
    if value is None:
        return type_name == "null"
    kind = find_json_type(value)
    return not type_name or kind == type_name or (kind == "integer" and type_name == "number")


def _only_requires(member: JsonSchema) -> bool:
    return isinstance(member, dict) and member.keys() <= {
        "required", "not", "type", "title", "description",
    }  # fmt: skip


def _describe_bounds(keywords: JsonObject, type_name: str) -> str:
    """Return the bounds of a value in words: "1 to 100"."""
    if _BOUNDS.isdisjoint(keywords):  # as of most values
        return ""
    noun = {"string": "character", "array": "item"}.get(type_name, "")
    low, high, *_ = _BY_TYPE.get(type_name, _BY_TYPE["number"])  # the bounds come first
    least, most = keywords.get(low), keywords.get(high)
    if type_name in ("string", "array") and least == 0:
        least = None
    if type_name == "string" and least == 1 and most is None:
        return ""  # an empty value needs no words
    if least is not None and most is not None:
        return f"{_count_noun(least if least == most else f'{least} to {most}', noun)}."
    if least is not None:
        return f"At least {_count_noun(least, noun)}."
    if most is not None:
        return f"At most {_count_noun(most, noun)}."
    for keyword, words in (("exclusiveMinimum", "More than"), ("exclusiveMaximum", "Less than")):
        if keyword in keywords and type_name in ("integer", "number"):
            return f"{words} {keywords[keyword]}."
    return ""


def _count_noun(number: int | float | str, noun: str) -> str:
    if not noun:
        return str(number)
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _join_sentences(parts: list[str]) -> str:
    sentences: list[str] = []
    for part in filter(None, parts):
        if part not in sentences:
            sentences.append(part if part[-1] in ".!?…" else part + ".")
    return " ".join(sentences)


def _describe_example(keywords: JsonObject) -> str:
    """Return a sentence with the first example, unless it is long, or known without it."""
    if "examples" not in keywords:
        return ""
    value = next(iter(keywords["examples"]), None)
    if find_json_type(value) not in ("string", "integer", "number"):
        return ""
    text = plain_line(str(value))
    is_placeholder = text.lower() in ("string", REDACTED.lower()) or not _WORD.search(text)
    is_secret = has_token_shape(text)
    is_known = value == keywords.get("default") or text in (keywords.get("description") or "")
    if is_placeholder or is_secret or is_known or len(text) > _MAX_EXAMPLE or "`" in text:
        return ""
    return f"Example: `{text}`."


def _is_short(value: JsonValue) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= 200)

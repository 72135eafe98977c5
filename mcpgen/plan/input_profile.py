"""Schemas of arguments as every client and model takes them (the portable profile).

One type a schema, `items` in every array, patterns without look-around, known formats, bounded
enums, no choice but `anyOf`. Bounds are said in words too, since some clients strip them. Whatever
is lost here is said in the description and still checked when the tool is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.built import Built, branch, leaf
from mcpgen.plan.descriptions import clean, shorten, with_wire_name
from mcpgen.plan.shapes import Shape, json_type
from mcpgen.plan.transliteration import is_latin

FILE_IN_WORDS = "The content of a file: base64, or a `data:`, `file:` or resource URI."
Build = Callable[[JsonSchema], Built]

_MAX_DESCRIPTION = 400
_MAX_ENUM = 100
_MAX_PATTERN = 300
_FORMATS = frozenset(
    {
        "date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri",
        "uri-reference", "uuid",
    }
)  # fmt: skip
_NOT_EVERYWHERE = re.compile(r"\(\?[=!<:a-zA-Z]|\\[1-9]|\\[pPkbBuxc]|\\u\{|\[\[|&&")
_ONLY_CHECKED = frozenset(
    {
        "not", "if", "then", "else", "contains", "minContains", "maxContains", "prefixItems",
        "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas",
        "unevaluatedItems", "unevaluatedProperties", "minProperties", "maxProperties", "allOf",
    }
)  # fmt: skip
_BY_TYPE: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems", "uniqueItems"),
}
_BESIDE_A_CHOICE = frozenset(
    {"enum", "pattern", "uniqueItems", "additionalProperties", "required"}.union(*_BY_TYPE.values())
)
_ANY = "Any JSON value."


class InputProfile:
    """Builds listed schemas of arguments. `keeps_null` is for requests where null has a meaning
    of its own beside absence, as in a PATCH; `offered` has what properties are called instead of
    their wire names.
    """

    def __init__(self, *, keeps_null: bool, offered: Mapping[str, str]) -> None:
        self.keeps_null = keeps_null
        self._offered = offered

    def description(self, schema: JsonObject) -> str:
        """What a schema says about itself, as it is listed."""
        text = schema.get("description") or ""
        told = shorten(" ".join(clean(text).split()), _MAX_DESCRIPTION) if text else ""
        return f"[deprecated] {told}".strip() if schema.get("deprecated") is True else told

    def cut(self, shape: Shape) -> Built:
        """What stands for a part that nests too deep."""
        kind = shape.types[0] if len(shape.types) == 1 else ""
        told = [self.description(shape.keywords), "Nests further than is listed here."]
        schema: JsonObject = {"description": " ".join(filter(None, told))}
        if kind == "array":
            schema |= {"type": "array", "items": {"description": _ANY}}
        elif kind:
            schema["type"] = kind
        return leaf(schema, is_exact=False)

    def is_cut(self, shape: Shape) -> bool:
        """Whether a part is one that nests, so that it ends where the depth does."""
        return bool(
            {"properties", "items", "additionalProperties", "anyOf", "oneOf"} & set(shape.keywords)
        )

    def build(self, shape: Shape, build: Build) -> Built:
        """One level, its children built by `build`."""
        keywords = shape.keywords
        told = [self.description(keywords)]
        is_exact = shape.is_exact and not (_ONLY_CHECKED & keywords.keys())
        if not is_exact:
            told += self._rules_in_words(keywords)
        types = list(shape.types)
        is_nullable = "null" in types and len(types) > 1
        if is_nullable:
            types.remove("null")
        choice = next((key for key in ("anyOf", "oneOf") if key in keywords), "")
        if choice:
            built = self._choice(keywords, types, choice, build)
        elif len(types) > 1:
            parts = [self._typed(keywords, name, build) for name in types]
            built = _any_of(parts)
        elif types:
            built = self._typed(keywords, types[0], build)
        elif "enum" in keywords:
            built = self._typed(keywords, "", build)
        else:
            built = leaf({"description": _ANY})
        told.append(built.schema.get("description", ""))
        if is_nullable:
            built = _any_of([built, leaf({"type": "null"})])
        if "default" in keywords and _is_short(keywords["default"]):
            built = _with(built, {"default": keywords["default"]})
        if not is_exact:
            built = built.inexact()
        return built.described(_sentences(told))

    def _typed(self, keywords: JsonObject, name: str, build: Build) -> Built:
        if name in ("object", "array"):
            built = (self._object if name == "object" else self._array)(keywords, build)
            return built.inexact() if "enum" in keywords else built  # which values is only checked
        schema: JsonObject = {"type": name} if name else {}
        told: list[str] = []
        is_exact = True
        if "enum" in keywords:
            values = [value for value in keywords["enum"] if _belongs(value, name)]
            is_exact = self._enum(schema, values, told)
        else:
            schema |= {key: keywords[key] for key in _BY_TYPE.get(name, ()) if key in keywords}
            told.append(_bounds(keywords, name))
            if name == "string":
                is_exact = self._string(schema, keywords, told)
        if any(told):
            schema["description"] = _sentences(told)
        return leaf(schema, is_exact=is_exact)

    @staticmethod
    def _enum(schema: JsonObject, values: list[JsonValue], told: list[str]) -> bool:
        if len(values) <= _MAX_ENUM:
            schema["enum"] = values
            return True
        some = ", ".join(f"`{value}`" for value in values[:5])
        told.append(f"One of {len(values)} values, such as {some}.")
        return False

    @staticmethod
    def _string(schema: JsonObject, keywords: JsonObject, told: list[str]) -> bool:
        if keywords.get("format") in _FORMATS:
            schema["format"] = keywords["format"]
        elif keywords.get("format") == "byte" or keywords.get("contentEncoding") == "base64":
            told.append("Base64.")
        elif keywords.get("format") == "binary":
            told.append(FILE_IN_WORDS)
        pattern = keywords.get("pattern")
        if not pattern:
            return True
        if len(pattern) <= _MAX_PATTERN and not _NOT_EVERYWHERE.search(pattern):
            schema["pattern"] = pattern
            return True
        if len(pattern) <= 100:
            told.append(f"Matches the regular expression {pattern}")
        return False

    @staticmethod
    def _array(keywords: JsonObject, build: Build) -> Built:
        own = {"type": "array"}
        own |= {key: keywords[key] for key in _BY_TYPE["array"] if key in keywords}
        bounds = _bounds(keywords, "array")
        if bounds:
            own["description"] = bounds
        child = build(keywords.get("items", True))
        return branch({**own, "items": child.schema}, own, [child], levels=1, is_exact=True)

    def _object(self, keywords: JsonObject, build: Build) -> Built:
        own: JsonObject = {"type": "object"}
        is_exact = True
        required = list(keywords.get("required", ()))
        properties: dict[str, Built] = {}
        declared = keywords.get("properties", {})
        extra = keywords.get("additionalProperties", True)
        others = extra if isinstance(extra, dict) else True
        for name, schema in sorted({**dict.fromkeys(required, others), **declared}.items()):
            if schema is False and name not in required:
                is_exact &= extra is False  # it must be left out, which else is only checked
                continue
            child = build(schema)
            if name not in required and not self.keeps_null:
                child = _without_null(child)
            if not is_latin(name):
                told = with_wire_name(child.schema.get("description", ""), name)
                child = child.described(told)
            properties[self._called(name)] = child
        if required:
            own["required"] = [self._called(name) for name in required]
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
        return branch(schema, own, children, levels=levels, is_exact=is_exact, names=properties)

    def _choice(self, keywords: JsonObject, types: list[str], choice: str, build: Build) -> Built:
        members = keywords[choice]
        base = None
        if "properties" in keywords or "items" in keywords:
            base = self._typed(keywords, types[0] if types else "object", build)
        if base is not None and all(_only_requires(member) for member in members):
            needs = [
                " and ".join(f"`{self._called(name)}`" for name in member.get("required", ()))
                for member in members
                if isinstance(member, dict)
            ]
            told = f"Give {', or '.join(need for need in needs if need)}."
            return base.inexact().described(_sentences([base.schema.get("description", ""), told]))
        parts = [self._member(member, types, build) for member in members if member is not False]
        if not parts:  # nothing fits, which is only checked
            return leaf({"description": _ANY}, is_exact=False)
        is_exact = choice == "anyOf" or _are_told_apart(parts)
        if base is None and keywords.keys() & _BESIDE_A_CHOICE:
            is_exact = False
        if types and not all(part.schema.get("type") in types for part in parts):
            is_exact = False
        built = _any_of(parts)
        if base is not None:
            schema = {**base.schema, **built.schema}
            built = branch(schema, {}, [base, built], levels=0, is_exact=is_exact)
        return built if is_exact else built.inexact()

    def _called(self, name: str) -> str:
        return self._offered.get(name, name)

    def _rules_in_words(self, keywords: JsonObject) -> list[str]:
        told = []
        if "prefixItems" in keywords:
            told.append(f"The first {len(keywords['prefixItems'])} items have types of their own.")
        for name, others in sorted(keywords.get("dependentRequired", {}).items()):
            needed = ", ".join(f"`{self._called(other)}`" for other in others)
            told.append(f"`{self._called(name)}` needs {needed}.")
        if "minProperties" in keywords:
            told.append(f"At least {_counted(keywords['minProperties'], 'member')}.")
        if "maxProperties" in keywords:
            told.append(f"At most {_counted(keywords['maxProperties'], 'member')}.")
        return told or ["More rules apply; a call that breaks one is told which."]

    @staticmethod
    def _member(member: JsonSchema, types: list[str], build: Build) -> Built:
        built = build(member)
        if not {"type", "$ref", "anyOf"} & built.schema.keys() and len(types) == 1:
            return _with(built, {"type": types[0]})
        return built


def _with(built: Built, more: JsonObject) -> Built:
    schema = {**built.schema, **more}
    return Built(schema, built.size + leaf(more).size, built.height, built.names, built.is_exact)


def _any_of(parts: list[Built]) -> Built:
    """A choice, flattened, without repetitions; the only member itself where one is left."""
    flat: list[Built] = []
    for part in parts:
        if part.schema.keys() <= {"anyOf", "description"} and "anyOf" in part.schema:
            flat += [
                Built(member, leaf(member).size, part.height, part.names, part.is_exact)
                for member in part.schema["anyOf"]
            ]
        else:
            flat.append(part)
    distinct: list[Built] = []
    for part in flat:
        if not any(part.schema == other.schema for other in distinct):
            distinct.append(part)
    joined = _joined_enum(distinct)
    if joined is not None:
        return joined
    if len(distinct) == 1:
        return distinct[0]
    members = [part.schema for part in distinct]
    return branch({"anyOf": members}, {"anyOf": []}, distinct, levels=0, is_exact=True)


def _joined_enum(parts: list[Built]) -> Built | None:
    """Choices between constants of one type, as one enum."""
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
        schema["description"] = shorten("; ".join(meanings), _MAX_DESCRIPTION)
    return leaf(schema, is_exact=all(part.is_exact for part in parts))


def _are_told_apart(parts: list[Built]) -> bool:
    """Whether at most one of the members can hold, so that `anyOf` says what `oneOf` did."""
    types = [part.schema.get("type") for part in parts]
    if None in types or {"integer", "number"} <= set(types):
        return False
    return len(set(types)) == len(types)


def _without_null(built: Built) -> Built:
    """`built` as an optional property has it: to leave it out says what null would."""
    members = built.schema.get("anyOf")
    if not members or {"type": "null"} not in members:
        return built
    others = [member for member in members if member != {"type": "null"}]
    rest = {key: value for key, value in built.schema.items() if key != "anyOf"}
    if rest.get("default", 0) is None:
        del rest["default"]
    schema = {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}
    return Built(schema, built.size, built.height, built.names, is_exact=False)


def _belongs(value: Any, type_name: str) -> bool:
    if value is None:
        return type_name == "null"
    kind = json_type(value)
    return not type_name or kind == type_name or (kind == "integer" and type_name == "number")


def _only_requires(member: JsonSchema) -> bool:
    return isinstance(member, dict) and member.keys() <= {
        "required", "not", "type", "title", "description",
    }  # fmt: skip


def _bounds(keywords: JsonObject, type_name: str) -> str:
    """The bounds of a value in words: "1 to 100"."""
    noun = {"string": "character", "array": "item"}.get(type_name, "")
    low, high = {
        "string": ("minLength", "maxLength"),
        "array": ("minItems", "maxItems"),
    }.get(type_name, ("minimum", "maximum"))
    least, most = keywords.get(low), keywords.get(high)
    if type_name in ("string", "array") and least == 0:
        least = None
    if type_name == "string" and least == 1 and most is None:
        return ""  # nobody has to be told not to send nothing
    if least is not None and most is not None:
        return f"{_counted(least if least == most else f'{least} to {most}', noun)}."
    if least is not None:
        return f"At least {_counted(least, noun)}."
    if most is not None:
        return f"At most {_counted(most, noun)}."
    if "exclusiveMinimum" in keywords and type_name in ("integer", "number"):
        return f"More than {keywords['exclusiveMinimum']}."
    if "exclusiveMaximum" in keywords and type_name in ("integer", "number"):
        return f"Less than {keywords['exclusiveMaximum']}."
    return ""


def _counted(number: int | float | str, noun: str) -> str:
    if not noun:
        return str(number)
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _sentences(parts: list[str]) -> str:
    told: list[str] = []
    for part in filter(None, parts):
        if part not in told:
            told.append(part if part[-1] in ".!?…" else part + ".")
    return " ".join(told)


def _is_short(value: JsonValue) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= 200)

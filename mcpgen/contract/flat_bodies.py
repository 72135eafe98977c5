"""Flat bodies: request bodies whose members are arguments of the tool (`flat_body` in contracts).

Clients pass the members; the handler gets the body. The schema that validates arguments describes
the body, so that the rules of its object need no other form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

JsonObject = dict[str, Any]


class FlatBody(Struct, frozen=True):
    """The arguments of a tool that are members of its body."""

    argument: str  # of the handler: "body"
    members: dict[str, str]  # members of the body, by argument
    required: bool = False  # if so, a call without members sends an empty object
    is_closed: bool = False  # the schema of the body forbids other members

    @property
    def names(self) -> dict[str, str]:
        """The arguments, by the members of the body that they are."""
        return {member: name for name, member in self.members.items()}

    def gather(self, arguments: Mapping[str, Any]) -> JsonObject:
        """Return the arguments with the body in place of its members."""
        members = self.members
        body = {members[name]: value for name, value in arguments.items() if name in members}
        gathered = {name: value for name, value in arguments.items() if name not in members}
        if body or self.required:
            gathered[self.argument] = body
        return gathered

    def drop_empty(self, gathered: Mapping[str, Any]) -> JsonObject:
        """Return gathered arguments without an empty body that is optional."""
        is_kept = self.required or gathered.get(self.argument) != {}
        return {name: it for name, it in gathered.items() if is_kept or name != self.argument}

    def spread(self, arguments: Mapping[str, Any]) -> JsonObject | None:
        """Return the arguments with the members of the body in its place.

        None if no arguments send this body: one with other members, an empty one that is
        optional, or no object.
        """
        if self.argument not in arguments:
            return dict(arguments)
        body, names = arguments[self.argument], self.names
        if not isinstance(body, dict) or not body.keys() <= names.keys():
            return None
        if not (body or self.required):
            return None
        others = {name: value for name, value in arguments.items() if name != self.argument}
        return {**others, **{names[member]: value for member, value in body.items()}}

    def nest_schema(self, listed: JsonObject) -> JsonObject:
        """Return the schema of gathered arguments for that of the listed ones."""
        properties: JsonObject = listed["properties"]
        required: list[str] = listed.get("required", [])
        body: JsonObject = {
            "type": "object",
            "properties": {member: properties[name] for name, member in self.members.items()},
        }
        if self.is_closed:
            body["additionalProperties"] = False
        needed = [self.members[name] for name in required if name in self.members]
        if needed:
            body["required"] = needed
        others = {name: it for name, it in properties.items() if name not in self.members}
        nested = {**listed, "properties": {**others, self.argument: body}}
        nested["required"] = [name for name in required if name not in self.members]
        if self.required:
            nested["required"].append(self.argument)
        return nested

    def locate(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Return where the value at `path` of gathered arguments is in the listed ones.

        The body itself is at (), since it is no argument.
        """
        if path[:1] != (self.argument,):
            return path
        names = self.names
        return tuple(names.get(str(token), token) for token in path[1:2]) + path[2:]


def gather_schema(listed: JsonObject, flat: FlatBody | None) -> JsonObject:
    """Return the schema of a handler's arguments for the listed one, which can have a flat body."""
    return listed if flat is None else flat.nest_schema(listed)

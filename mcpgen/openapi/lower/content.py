"""Lowering of request bodies, responses and media types of OpenAPI 3."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import (
    Encoding,
    MediaType,
    Operation,
    Parameter,
    RequestBody,
    Response,
    ResponseLink,
)
from mcpgen.jsonschema.references import find_reference, iterate_parts
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.openapi.lower.nodes import Node, Source, object_of
from mcpgen.openapi.lower.parameters import ParameterLowering, check_header, examples_of
from mcpgen.openapi.lower.schema import SchemaLowering
from mcpgen.text.media_types import essence_of

_MAX_MEDIA_TYPES = 100  # of one body; each is compared with each other one
_NAME = r"[A-Za-z0-9!#$&^_.+*-]+"
_VALUE = r"(?:[A-Za-z0-9!#$&^_.+/:-]+|\"[ !#-\[\]-~]*\")"
_MEDIA_TYPE = re.compile(  # RFC 9110, section 8.3.1, and the ranges that OpenAPI allows
    rf"{_NAME}/{_NAME}(?:[ \t]*;[ \t]*{_NAME}={_VALUE})*[ \t]*;?\Z"
)


_Lowered = tuple[
    str, tuple[MediaType, ...], tuple[Parameter, ...], tuple[ResponseLink, ...]
]  # of a response: description, content, headers, links


def drop_impossible(
    content: tuple[MediaType, ...], status: str, pointer: str, source: Source
) -> tuple[MediaType, ...]:
    """Return the content that responses with this status can have; warn if the document has more.

    Responses with 204 and 205 have none (RFC 9110, sections 15.3.5 and 15.3.6).
    """
    if not content or status not in {"204", "205"}:
        return content
    message = f"a response with status {status} has no content; its content was dropped"
    source.warn("status-code", message, pointer)
    return ()


class ContentLowering:
    """Lowering of request bodies and responses; shared ones are cached by pointer."""

    def __init__(
        self, source: Source, schemas: SchemaLowering, parameters: ParameterLowering
    ) -> None:
        self._source = source
        self._schemas = schemas
        self._parameters = parameters
        self._bodies: dict[str, RequestBody] = {}
        self._responses: dict[str, _Lowered] = {}

    def request_body(self, node: Node) -> RequestBody | None:
        """Lower the Request Body Object at `node`; return None if there is none."""
        if node.value is None:
            return None
        found = self._source.follow(node)
        if not isinstance(found.value, dict):
            raise OperationRefusedError(
                "request-body",
                "its request body is not an object",
                self._source.at(found.pointer),
            )
        if found.pointer not in self._bodies:
            content = self.content(found.child("content"))
            if not content and object_of(found.child("content").value):
                raise OperationRefusedError(
                    "media-type",
                    "its request body has no valid media type",
                    self._source.at(f"{found.pointer}/content"),
                )
            self._bodies[found.pointer] = RequestBody(
                required=found.flag("required"),
                content=content,
                at=self._source.at(found.pointer),
                description=found.text("description"),
            )
        body = self._bodies[found.pointer]
        return body if body.content else None

    def responses(self, node: Node) -> tuple[Response, ...]:
        """Lower the Responses Object at `node`; sort by status, "default" last."""
        responses = (
            self._response(status, declared)
            for key, declared in node.members()
            if not key.startswith("x-") and (status := self._status(key, declared.pointer))
        )
        return tuple(sorted(responses, key=lambda response: response.status))

    def _status(self, key: str, pointer: str) -> str:
        status = key.strip()
        if status.lower() == "default":
            return "default"
        if (
            len(status) == 3
            and status[0] in "12345"
            and (status.isdecimal() or status[1:].upper() == "XX")
        ):
            return status.upper()
        self._source.warn("status-code", f"invalid status code `{key}`; it was dropped", pointer)
        return ""

    def _response(self, status: str, node: Node) -> Response:
        found = self._source.try_follow(node, "; any response is accepted")
        found = found or Node({}, node.pointer)
        if found.pointer not in self._responses:
            self._responses[found.pointer] = (
                found.text("description"),
                self.content(found.child("content")),
                self._headers(found.child("headers")),
                self._links(found.child("links")),
            )
        description, content, headers, links = self._responses[found.pointer]
        return Response(
            status=status,
            description=description,
            content=drop_impossible(content, status, found.pointer, self._source),
            at=self._source.at(found.pointer),
            headers=headers,
            links=links,
        )

    def _links(self, node: Node) -> tuple[ResponseLink, ...]:
        """Lower the links of a response, by name; those that cannot be followed are omitted."""
        found: list[ResponseLink] = []
        for _, child in sorted(node.members(), key=lambda member: member[0]):
            link: Node | None = child
            if "$ref" in object_of(child.value):
                link = self._source.try_follow(child, "; the link is not used")
            if link is not None and isinstance(link.value, dict):
                parameters = object_of(link.child("parameters").value)
                found.append(
                    ResponseLink(link.text("operationId"), link.text("operationRef"), parameters)
                )
        return tuple(found)

    def content(self, node: Node) -> tuple[MediaType, ...]:
        """Lower the media types of a `content` map; sort them by name."""
        found: list[MediaType] = []
        for name, child in sorted(node.members(), key=lambda member: member[0]):
            if len(found) == _MAX_MEDIA_TYPES:
                self._source.warn(
                    "media-type",
                    f"more than {_MAX_MEDIA_TYPES} media types; the rest was dropped",
                    node.pointer,
                )
                break
            essence = name.partition(";")[0].strip()
            if _MEDIA_TYPE.match(name.strip()):
                found.append(self.media_type(name, child))
            elif _MEDIA_TYPE.match(essence) and essence not in object_of(node.value):
                found.append(self.media_type(essence, child))
                self._source.warn(
                    "media-type",
                    f"invalid parameters of the media type {name.strip()!a}; it was read as"
                    f" `{essence}`",
                    child.pointer,
                    help=f"write parameters such as `{essence}; charset=utf-8`",
                )
            else:
                self._source.warn(
                    "media-type",
                    f"invalid media type {name.strip()!a}; it was dropped",
                    child.pointer,
                    help="write a media type such as `application/json`",
                )
        return tuple(sorted(found, key=lambda media_type: media_type.media_type))

    def media_type(self, name: str, node: Node) -> MediaType:
        """Lower the Media Type Object at `node`."""
        node = self._source.follow(node)
        declared = object_of(node.value)
        return MediaType(
            media_type=name.strip(),
            schema=self._schemas.lower(node.child("schema")) if "schema" in declared else None,
            at=self._source.at(node.pointer),
            encoding={
                name: self._lower_encoding(child)
                for name, child in sorted(node.child("encoding").members())
            },
            prefix_encoding=tuple(
                map(self._lower_encoding, node.child("prefixEncoding").elements())
            ),
            item_encoding=(
                self._lower_encoding(node.child("itemEncoding"))
                if "itemEncoding" in declared
                else None
            ),
            examples=examples_of(node, self._source),
            item_schema=(
                self._schemas.lower(node.child("itemSchema")) if "itemSchema" in declared else None
            ),
        )

    def _lower_encoding(self, node: Node) -> Encoding:
        """Lower the Encoding Object at `node`."""
        explode = object_of(node.value).get("explode")
        return Encoding(
            content_type=node.text("contentType"),
            style=node.text("style"),
            explode=explode if isinstance(explode, bool) else None,
            allow_reserved=node.flag("allowReserved"),
            headers=tuple(
                header
                for header in self._headers(node.child("headers"))
                if check_header(header.name, node.pointer, self._source)
            ),
        )

    def _headers(self, node: Node) -> tuple[Parameter, ...]:
        headers = []
        for name, declared in sorted(node.members()):
            child = self._source.try_follow(declared)
            if child and isinstance(child.value, dict) and name.lower() != "content-type":
                headers.append(self._parameters.build(child, name, "header"))
        return tuple(headers)


_XML_NAME = re.compile(r"[^\W\d][\w.\-]*\Z")


def with_roots(operation: Operation, schemas: Mapping[str, JsonSchema]) -> Operation:
    """Add the root element to each XML body of an operation that can be serialised."""
    body = operation.request_body
    if body is None or not any(_is_xml(item.media_type) for item in body.content):
        return operation
    content = tuple(
        replace(item, xml_root=_find_root(item, schemas)) if _is_xml(item.media_type) else item
        for item in body.content
    )
    return replace(operation, request_body=replace(body, content=content))


def _is_xml(media_type: str) -> bool:
    essence = essence_of(media_type)
    return essence in ("application/xml", "text/xml") or essence.endswith("+xml")


def _find_root(item: MediaType, schemas: Mapping[str, JsonSchema]) -> str:
    """Return the `xml` name of an object or array, else the name of its component, else ""."""
    if not isinstance(item.schema, dict):
        return ""
    parts = list(iterate_parts(item.schema, schemas))
    types = {part["type"] for part in parts if isinstance(part.get("type"), str)}
    if not types and any("properties" in part for part in parts):
        types = {"object"}
    if types not in ({"object"}, {"array"}):
        return ""
    xml_names = [part["xml"].get("name") for part in parts if isinstance(part.get("xml"), dict)]
    names = [*filter(None, xml_names), find_reference(item.schema)]
    return names[0] if isinstance(names[0], str) and _XML_NAME.match(names[0]) else ""

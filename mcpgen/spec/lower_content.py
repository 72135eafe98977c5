"""Bodies, responses and media types of OpenAPI 3."""

from __future__ import annotations

import re

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import Encoding, MediaType, Parameter, RequestBody, Response
from mcpgen.spec.lower_parameters import ParameterLowering, examples_of, sendable_header
from mcpgen.spec.lower_schema import SchemaLowering
from mcpgen.spec.lower_source import Node, Source, object_of

_NAME = r"[A-Za-z0-9!#$&^_.+*-]+"
_VALUE = r"(?:[A-Za-z0-9!#$&^_.+/:-]+|\"[ !#-\[\]-~]*\")"
_MEDIA_TYPE = re.compile(  # RFC 9110, section 8.3.1, and the ranges that OpenAPI allows
    rf"{_NAME}/{_NAME}(?:[ \t]*;[ \t]*{_NAME}={_VALUE})*[ \t]*;?\Z"
)


class ContentLowering:
    """Reads what is sent and what comes back, each shared part once."""

    def __init__(
        self, source: Source, schemas: SchemaLowering, parameters: ParameterLowering
    ) -> None:
        self._source = source
        self._schemas = schemas
        self._parameters = parameters
        self._bodies: dict[str, RequestBody] = {}
        self._responses: dict[str, tuple[str, tuple[MediaType, ...], tuple[Parameter, ...]]] = {}

    def request_body(self, node: Node) -> RequestBody | None:
        """The Request Body Object at `node`; None where nothing is declared."""
        if node.value is None:
            return None
        found = self._source.follow(node)
        if not isinstance(found.value, dict):
            raise OperationRefusedError(
                "request-body", "a request body is an object", self._source.at(found.pointer)
            )
        if found.pointer not in self._bodies:
            content = self.content(found.child("content"))
            if not content and object_of(found.child("content").value):
                raise OperationRefusedError(
                    "media-type",
                    "its body has no media type that can be sent",
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
        """The Responses Object at `node`, by status; "default" last."""
        responses = []
        for key, declared in node.members():
            if key.startswith("x-"):
                continue
            status = self._status(key, declared.pointer)
            if status:
                responses.append(self._response(status, declared))
        return tuple(sorted(responses, key=lambda response: response.status))

    def _status(self, key: str, pointer: str) -> str:
        status = key.strip()
        if status.lower() == "default":
            return "default"
        if len(status) == 3 and status[0] in "12345":
            if status.isdecimal():
                return status
            if status[1:].upper() == "XX":
                return status.upper()
        self._source.warn("status-code", f"`{key}` is no status code; it was dropped", pointer)
        return ""

    def _response(self, status: str, node: Node) -> Response:
        try:
            found = self._source.follow(node)
        except OperationRefusedError as refused:
            self._source.problems.warning(
                refused.code, f"{refused.message}; the response is taken as it comes", at=refused.at
            )
            found = Node({}, node.pointer)
        if found.pointer not in self._responses:
            self._responses[found.pointer] = (
                found.text("description"),
                self.content(found.child("content")),
                self._headers(found.child("headers")),
            )
        description, content, headers = self._responses[found.pointer]
        return Response(
            status=status,
            description=description,
            content=content,
            at=self._source.at(found.pointer),
            headers=headers,
        )

    def content(self, node: Node) -> tuple[MediaType, ...]:
        """The media types of a `content` map, by name."""
        found = []
        for name, child in node.members():
            if _MEDIA_TYPE.match(name.strip()):
                found.append(self.media_type(name, child))
            else:
                self._source.warn(
                    "media-type",
                    f"{name.strip()!a} is no media type; it was dropped",
                    child.pointer,
                    help="media types look like `application/json`",
                )
        return tuple(sorted(found, key=lambda media_type: media_type.media_type))

    def media_type(self, name: str, node: Node) -> MediaType:
        """The Media Type Object at `node`."""
        node = self._source.follow(node)
        declared = object_of(node.value)
        return MediaType(
            media_type=name.strip(),
            schema=self._schemas.lower(node.child("schema")) if "schema" in declared else None,
            at=self._source.at(node.pointer),
            encoding={
                name: self._encoding(child)
                for name, child in sorted(node.child("encoding").members())
            },
            prefix_encoding=tuple(map(self._encoding, node.child("prefixEncoding").elements())),
            item_encoding=(
                self._encoding(node.child("itemEncoding")) if "itemEncoding" in declared else None
            ),
            examples=examples_of(node, self._source),
            item_schema=(
                self._schemas.lower(node.child("itemSchema")) if "itemSchema" in declared else None
            ),
        )

    def _encoding(self, node: Node) -> Encoding:
        """The Encoding Object at `node`."""
        explode = object_of(node.value).get("explode")
        return Encoding(
            content_type=node.text("contentType"),
            style=node.text("style"),
            explode=explode if isinstance(explode, bool) else None,
            allow_reserved=node.flag("allowReserved"),
            headers=tuple(
                header
                for header in self._headers(node.child("headers"))
                if sendable_header(header.name, node.pointer, self._source)
            ),
        )

    def _headers(self, node: Node) -> tuple[Parameter, ...]:
        headers = []
        for name, declared in sorted(node.members()):
            try:
                child = self._source.follow(declared)
            except OperationRefusedError as refused:
                self._source.problems.warning(refused.code, refused.message, at=refused.at)
                continue
            if isinstance(child.value, dict) and name.lower() != "content-type":
                headers.append(self._parameters.build(child, name, "header"))
        return tuple(headers)

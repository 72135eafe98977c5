"""Lowering of Swagger 2.0: servers, parameters, bodies, forms, collection formats, responses."""

from __future__ import annotations

from msgspec import Struct

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import Encoding, MediaType, Parameter, RequestBody, Response, Server
from mcpgen.jsonschema.types import JsonObject
from mcpgen.openapi.lower.content import drop_impossible
from mcpgen.openapi.lower.nodes import Node, Source, object_of
from mcpgen.openapi.lower.parameters import check_header, check_name, credential_header, merge
from mcpgen.openapi.lower.schema import SchemaLowering
from mcpgen.openapi.lower.servers import normalize_url

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"
_OCTETS = "application/octet-stream"
_OF_PARAMETERS = frozenset(
    {"name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema"}
)
# OpenAPI 3 has delimited styles only in queries, and none with tabs; the IR allows them everywhere.
_DELIMITED = {"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}


def read_servers(source: Source) -> tuple[Server, ...]:
    """Lower `schemes`, `host` and `basePath` to servers, https before http."""
    root = source.root
    host, base_path = root.text("host").strip(), root.text("basePath").strip()
    if base_path and not base_path.startswith("/"):
        base_path = "/" + base_path
    if not host and not (source.document.url or base_path):
        return ()
    declared = [str(item.value).lower() for item in root.child("schemes").elements()]
    schemes = [scheme for scheme in ("https", "http") if scheme in declared]
    if declared and not schemes:
        source.warn("server-url", "unsupported `schemes`: expected http or https", "/schemes")
    urls = (
        [f"{scheme}://{host}{base_path}" for scheme in schemes or ["https"]]
        if host
        else [base_path]
    )
    found = [normalize_url(url, "/host" if host else "/basePath", source) for url in urls]
    return tuple(Server(url) for url in dict.fromkeys(found) if url is not None)


class Exchange(Struct):
    """Lowering of the parameters, the body and the responses of the operation at `node`."""

    node: Node
    source: Source
    schemas: SchemaLowering

    def read(self, item: Node) -> tuple[list[Parameter], RequestBody | None, tuple[Response, ...]]:
        """Lower the operation in the path item `item`."""
        shared = [self.source.follow(child) for child in item.child("parameters").elements()]
        own = [self.source.follow(child) for child in self.node.child("parameters").elements()]
        overridden = {_identity(child) for child in own}
        shared = [child for child in shared if _identity(child) not in overridden]
        plain: dict[bool, list[Parameter]] = {False: [], True: []}
        bodies, fields = [], []
        for child in (*shared, *own):
            location = child.text("in").strip()
            if location == "body":
                bodies.append(child)
            elif location.lower() == "formdata":
                fields.append(child)
            else:
                parameter = self._parameter(child, location.lower())
                if parameter is not None:
                    plain[child in own].append(parameter)
        merged = merge(plain[False], plain[True], self.source)
        return merged, self._body(bodies, fields), self._responses()

    def _parameter(self, node: Node, location: str) -> Parameter | None:
        name = node.text("name")
        if location not in ("path", "query", "header"):
            raise OperationRefusedError(
                "parameter-location",
                "invalid `in` of a parameter: expected path, query, header, formData, body, found"
                f" `{node.text('in')}`",
                self.source.at(node.pointer),
            )
        if not check_name(node, location, self.source):
            return None
        if location == "header" and not check_header(name, node.pointer, self.source):
            return credential_header(node, self.source)
        style, explode = self._style(node, location)
        schema = self.schemas.lower(self._schema(node))
        self.schemas.drop_secret(name, schema, node.pointer)
        return Parameter(
            name=name,
            location=location,
            required=node.flag("required") or location == "path",
            schema=schema,
            style=style,
            explode=explode,
            at=self.source.at(node.pointer),
            allow_empty_value=location == "query" and node.flag("allowEmptyValue"),
            description=node.text("description"),
            deprecated=node.flag("deprecated") or node.flag("x-deprecated"),
            examples=tuple(
                node.value[key] for key in ("x-example", "example") if key in node.value
            ),
        )

    def _schema(self, node: Node) -> Node:
        """Return the `schema` of a parameter, else the parameter without its own keys."""
        if isinstance(node.value.get("schema"), dict):
            return node.child("schema")
        return Node(
            {key: value for key, value in node.value.items() if key not in _OF_PARAMETERS},
            node.pointer,
        )

    def _style(self, node: Node, location: str) -> tuple[str, bool]:
        """Return `collectionFormat` as `style` and `explode`; `location` may be "formdata"."""
        has_names = location in ("query", "formdata")
        plain = "form" if has_names else "simple"
        if node.text("type") != "array":
            return plain, has_names
        collection = node.text("collectionFormat") or "csv"
        if collection == "multi":
            return plain, has_names
        if collection in _DELIMITED:
            return _DELIMITED[collection], False
        if collection != "csv":
            self.source.warn(
                "collection-format",
                f"unknown collectionFormat `{collection}`; `csv` is used",
                f"{node.pointer}/collectionFormat",
                why="csv is the default for separating items",
                help="use csv, ssv, tsv, pipes or, in queries and forms, multi",
            )
        return plain, False

    def _types(self, key: str) -> list[str]:
        """Return `consumes` or `produces` of the operation, else of the document."""
        for holder in (self.node, self.source.root):
            declared = object_of(holder.value).get(key)
            if isinstance(declared, list):
                return [item.strip() for item in declared if isinstance(item, str) and item.strip()]
        return []

    def _body(self, bodies: list[Node], fields: list[Node]) -> RequestBody | None:
        if bodies and fields:
            raise OperationRefusedError(
                "body-and-form",
                "it has both a body and form fields",
                self.source.at(fields[0].pointer),
                "remove one of the two",
            )
        if len(bodies) > 1:
            raise OperationRefusedError(
                "several-bodies", "it has several bodies", self.source.at(bodies[1].pointer)
            )
        if bodies:
            return self._whole_body(bodies[0])
        return self._form(fields) if fields else None

    def _whole_body(self, node: Node) -> RequestBody:
        schema = self.schemas.lower(node.child("schema")) if "schema" in node.value else None
        named = object_of(node.value.get("x-examples"))
        examples = tuple(named[key] for key in sorted(named))
        at = self.source.at(node.pointer)
        types = sorted(set(self._types("consumes")) - {_FORM, _MULTIPART}) or [_JSON]
        return RequestBody(
            required=node.flag("required"),
            content=tuple(MediaType(name, schema, at, examples=examples) for name in types),
            at=at,
            description=node.text("description"),
        )

    def _form(self, fields: list[Node]) -> RequestBody:
        properties: JsonObject = {}
        encoding: dict[str, Encoding] = {}
        for field in fields:
            name = field.text("name")
            schema = self.schemas.lower(self._schema(field))
            if isinstance(schema, dict) and field.text("description"):
                schema = {**schema, "description": field.text("description")}
            properties[name] = schema
            if field.text("type") == "array":
                style, explode = self._style(field, "formdata")
                encoding[name] = Encoding(style=style, explode=explode)
        has_file = any(field.text("type").lower() == "file" for field in fields)
        allowed = (_MULTIPART,) if has_file else (_FORM, _MULTIPART)
        declared = [media_type for media_type in self._types("consumes") if media_type in allowed]
        required = [field.text("name") for field in fields if field.flag("required")]
        shape: JsonObject = {"type": "object", "properties": properties}
        if required:
            shape["required"] = required
        at = self.source.at(fields[0].pointer)
        return RequestBody(
            required=bool(required),
            content=tuple(
                MediaType(media_type, shape, at, encoding=encoding)
                for media_type in sorted(set(declared or allowed[:1]))
            ),
            at=at,
        )

    def _responses(self) -> tuple[Response, ...]:
        responses = []
        for key, declared in self.node.child("responses").members():
            if key.startswith("x-"):
                continue
            status = key.strip().lower()
            if not (status == "default" or (len(status) == 3 and status.isdecimal())):
                self.source.warn(
                    "status-code", f"invalid status code `{key}`; it was dropped", declared.pointer
                )
                continue
            found = self.source.try_follow(declared) or Node({}, declared.pointer)
            content = self._response_content(found)
            responses.append(
                Response(
                    status=status,
                    description=found.text("description"),
                    content=drop_impossible(content, status, found.pointer, self.source),
                    at=self.source.at(found.pointer),
                    headers=tuple(self._headers(found.child("headers"))),
                )
            )
        return tuple(sorted(responses, key=lambda response: response.status))

    def _response_content(self, node: Node) -> tuple[MediaType, ...]:
        schema_node = node.child("schema")
        if not isinstance(schema_node.value, dict):
            return ()
        is_file = schema_node.text("type") == "file"
        schema = self.schemas.lower(schema_node)
        examples = object_of(node.child("examples").value)
        types = self._types("produces") or ([_OCTETS] if is_file else [_JSON])
        return tuple(
            MediaType(
                media_type,
                schema,
                self.source.at(node.pointer),
                examples=(examples[media_type],) if media_type in examples else (),
            )
            for media_type in sorted(set(types))
        )

    def _headers(self, node: Node) -> list[Parameter]:
        return [
            Parameter(
                name=name,
                location="header",
                required=False,
                schema=self.schemas.lower(self._schema(child)),
                style="simple",
                explode=False,
                at=self.source.at(child.pointer),
                description=child.text("description"),
            )
            for name, child in sorted(node.members())
            if isinstance(child.value, dict)
        ]


def _identity(node: Node) -> tuple[str, str]:
    return (node.text("name"), node.text("in").lower())

"""An API whose reports take time: a POST starts one, and a GET returns its progress."""

from __future__ import annotations

from typing import Any

STATE = {"type": "string", "enum": ["queued", "running", "done", "failed"]}
REPORT = {"type": "object", "properties": {"id": {"type": "string"}, "status": STATE}}
ID = {"name": "reportId", "in": "path", "required": True, "schema": {"type": "string"}}


def answer(status: str, **more: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": REPORT}}
    return {status: {"description": "A report.", "content": content, **more}}


def operation(name: str, responses: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"operationId": name, "responses": responses, **more}


LINK = {"state": {"operationId": "getReport", "parameters": {"reportId": "$response.body#/id"}}}
LOCATION = {"Location": {"schema": {"type": "string"}}}
ACCEPTED = {"description": "Begun; the header says which report.", "headers": LOCATION}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Reports", "version": "1"},
    "servers": [{"url": "https://reports.example"}],
    "paths": {
        "/reports": {
            "post": operation("createReport", answer("202", links=LINK)),
            "put": operation("replaceReports", answer("200")),
            "patch": operation("refreshReports", {"202": ACCEPTED}),
        },
        "/reports/{reportId}": {
            "parameters": [ID],
            "get": operation("getReport", answer("200")),
            "delete": operation("cancelReport", {"204": {"description": "Cancelled."}}),
        },
    },
}
HEAD = "server: {name: reports}\nsources: [{document: openapi.json}]\nmodels: false\n"

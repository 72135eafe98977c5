"""The files that a dashboard links to."""

from __future__ import annotations

from mcpgen.factory.status.model import Fleet, ServerDetails
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.ir.waivers import WAIVERS_FILE
from mcpgen.ir.workspace import WORKSPACE_FILE
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER


def list_linked_files(fleet: Fleet) -> set[str]:
    """Return the paths of the files that the dashboard of a fleet links to, by its root."""
    files = {
        f"{server.status.server}/{file}"
        for server in fleet.servers
        for file in _list_files_of_server(server)
    }
    return {*files, WORKSPACE_FILE}


def _list_files_of_server(server: ServerDetails) -> set[str]:
    status = server.status
    proofs = (*(stage.proof for stage in status.stages), status.drift)
    found = {it.evidence for it in proofs} | {it.evidence for it in status.needs}
    found |= {f"{EVIDENCE_FOLDER}/{entry['check']}.json" for entry in server.history}
    return {LOCK_FILE, WAIVERS_FILE, *found} - {""}

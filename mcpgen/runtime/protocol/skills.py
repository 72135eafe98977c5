"""Methods of the Skills extension (`io.modelcontextprotocol/skills`, SEP-2640).

They are answered at once, from the prepared list of skills and the files of the package.
"""

from __future__ import annotations

from binascii import b2a_base64

from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, JsonObject
from mcpgen.runtime.protocol.request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from mcpgen.runtime.skills.files import SkillFiles

_DIRECTORY: Final = "inode/directory"


def get_skill(request: Request, uri: str) -> None:
    """Respond with the entry of one skill.

    Raises:
        ProtocolError: no skill has this URI.
    """
    skill = _list_skills(request).get(uri)
    if skill is None:
        raise ProtocolError(INVALID_PARAMS, f"no skill is served at {uri}", {"uri": uri})
    request.answer({"skill": skill})


def read_directory(request: Request, uri: str) -> None:
    """Respond with the direct children of a directory of a skill, by URI, on one page.

    Raises:
        ProtocolError: the URI is not that of a directory, or there is a cursor.
    """
    prefix = f"{uri}/"
    children: dict[str, JsonObject] = {}
    for skill in _list_skills(request).values():
        for file in skill["resources"]:
            if file["uri"].startswith(prefix):
                name, *deeper = file["uri"][len(prefix) :].split("/")
                child = prefix + name
                children[child] = (
                    {"uri": child, "name": name, "mimeType": _DIRECTORY}
                    if deeper
                    else _open_files(request).describe(child)
                )
    if not children:
        raise ProtocolError(INVALID_PARAMS, f"no directory is at {uri}", {"uri": uri})
    if "cursor" in request.params:  # a skill has too few files for a second page
        raise ProtocolError(INVALID_PARAMS, "invalid cursor; request the first page again")
    request.answer({"resources": [children[child] for child in sorted(children)]})


def answer_skill_file(request: Request, uri: str) -> bool:
    """Respond with a file of a skill; return False if this is the URI of none.

    Raises:
        ProtocolError: the file is damaged.
    """
    definition = request.connection.definition
    file = _open_files(request).read(uri)
    if file is None:
        return False
    media_type, data = file
    contents: JsonObject = {"uri": uri, "mimeType": media_type}
    try:
        contents["text"] = data.decode()
    except UnicodeDecodeError:
        contents["blob"] = b2a_base64(data, newline=False).decode()
    result: JsonObject = {"contents": [contents]}
    if request.revision.is_modern:  # a file is the same for everyone, unlike other resources
        result |= {"ttlMs": definition.ttl_ms, "cacheScope": definition.cache_scope}
    request.answer(result)
    return True


def _list_skills(request: Request) -> dict[str, JsonObject]:
    skills = request.connection.definition.skills
    return {} if skills is None else skills.items


def _open_files(request: Request) -> SkillFiles:
    open_files = request.connection.definition.open_skill_files
    if open_files is None:
        raise ProtocolError(METHOD_NOT_FOUND, "this server has no skills")
    return open_files()

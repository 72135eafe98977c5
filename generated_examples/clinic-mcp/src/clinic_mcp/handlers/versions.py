"""ETags of the versions of a resource."""

import re

from mcpgen.runtime import ToolError

_VERSION = re.compile(r'(?:W/)?"?([A-Za-z0-9.-]{1,36})"?')


def make_etag(version: str) -> str:
    """Return the ETag of a version, which may be its number or an ETag already.

    Models read `meta.versionId` and pass it on; the clinic takes a bare number for an ETag that
    never fits.

    Raises:
        ToolError: it is neither.
    """
    found = _VERSION.fullmatch(version.strip())
    if found is None:
        raise ToolError(f'if_match {version!r} is no version: give `meta.versionId`, such as "3"')
    return f'W/"{found[1]}"'

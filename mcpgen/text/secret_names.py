"""Detection of parameters that carry credentials, by their names."""

from __future__ import annotations

import re

_SECRET_NAME = re.compile(
    r"(?:^|[-_.])(?:token|secret|password|passwd|credentials?|authorization|api[-_]?key"
    r"|access[-_]?key|private[-_]?key)$|(?:Token|Secret|Password|ApiKey|AccessKey)$",
)


def is_secret_name(name: str) -> bool:
    """Return whether the value of a parameter or property called `name` is a credential."""
    return _SECRET_NAME.search(name) is not None

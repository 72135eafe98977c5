"""Import of generated packages in the process of the tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing_anew(package: str) -> Iterator[None]:
    """Import a package from the current `sys.path`, regardless of earlier imports.

    Another test may have imported a package of the same name from another folder, or another
    state of its files.
    """
    forget(package)
    try:
        yield
    finally:
        forget(package)


def forget(package: str) -> None:
    """Remove a package and its modules from `sys.modules`."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]

"""Recognition of system errors that ended a child process, from its status and its stderr."""

from __future__ import annotations

import errno
import os
import re
import signal

_RUST = re.compile(r"\(os error (\d+)\)")
_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EMFILE, errno.ENFILE)


def system_error(status: int, stderr: str, folder: str) -> OSError | None:
    """Return the error of the system that ended a process; None if it was something else.

    `status` is negative for a signal, as in `subprocess`; `folder` is where the process wrote.
    """
    number = 0
    if status == -getattr(signal, "SIGXFSZ", 0):
        number = errno.EFBIG
    elif found := _RUST.search(stderr):
        number = int(found[1])
    else:
        number = next((known for known in _ERRORS if os.strerror(known) in stderr), 0)
    return OSError(number, os.strerror(number), folder) if number else None

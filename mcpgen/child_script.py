"""Scripts of mcpgen that run a third-party library in an isolated Python process."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from pathlib import Path


class ChildScript:
    """A running script that reads a request from stdin and writes an answer to stdout.

    Its interpreter is isolated (`python -I`) and has an empty environment, so neither variables nor
    the user's packages change what it does. The script ends when this process ends, unless this
    process is killed.
    """

    def __init__(self, script: Path, request: bytes, *arguments: str, folder: str | Path) -> None:
        """Start the script in `folder`.

        Raises:
            OSError: it cannot be started, or there is no space for the request.
        """
        # Windows cannot start a process without this variable.
        environment = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        # A file, unlike a pipe, holds a request of any size before the script reads it.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(request)
            stdin.seek(0)
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and script
                [sys.executable, "-I", "-X", "utf8", str(script), *arguments],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
            )
        atexit.register(self.stop)

    def join(self, seconds: float) -> subprocess.CompletedProcess[bytes]:
        """Wait for the end of the script and return its status and output.

        Raises:
            TimeoutError: it ran for more than `seconds` and was stopped.
        """
        try:
            stdout, stderr = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            self.stop()
        return subprocess.CompletedProcess(
            self._process.args, self._process.returncode, stdout, stderr
        )

    def stop(self) -> None:
        """Stop the script if it still runs."""
        atexit.unregister(self.stop)
        self._process.kill()
        self._process.communicate()

"""Trial of a model in a process of its own: `python -m mcpgen.runtime.embeddings.trial FOLDER`.

Workers that are forked from a process that has imported ONNX Runtime crash, so the process that
starts a server must not import it. Nor can a model that hangs or crashes take the server with it.
The trial prints one JSON object to stdout: `{"problem": ""}` if the model can be used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Final

from mcpgen.runtime.embeddings.folder import ModelError
from mcpgen.runtime.embeddings.loading import load_model

TRIAL_SECONDS: Final = 60.0


def try_model(folder: str, *, seconds: float = TRIAL_SECONDS) -> None:
    """Load the model of a folder in a child process, and embed some texts.

    Raises:
        ModelError: the model cannot be used, or the trial crashed or took too long.
    """
    # The modules of this process, however it found them, and no others (-P).
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        done = subprocess.run(  # noqa: S603  (our own interpreter and module)
            [sys.executable, "-P", "-m", __spec__.name, folder],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(f"the model could not be tried out within {seconds:g} seconds") from None
    except OSError as error:
        raise ModelError(f"the model could not be tried out: {error.strerror}") from None
    if done.returncode:
        how = f"exit code {done.returncode}"
        if done.returncode < 0:
            how = f"signal {-done.returncode}"
        raise ModelError(f"the process that tried out the model ended with {how}")
    problem: str = json.loads(done.stdout.splitlines()[-1])["problem"]
    if problem:
        raise ModelError(problem)


def main() -> None:
    """Report on the model in the folder that the command line names."""
    problem = ""
    try:
        load_model(sys.argv[1]).try_out()
    except ModelError as error:
        problem = str(error)
    sys.stdout.write(f"{json.dumps({'problem': problem})}\n")


if __name__ == "__main__":
    main()

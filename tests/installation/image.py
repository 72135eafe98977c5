"""Build the image of a generated server with buildah, offline, and run it: `make image`.

The base image cannot be pulled, so one with the same name is made of this machine's own Python, a
shell and `useradd`. What pip installs comes from the wheelhouse of the tests.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pip

from mcpgen.cli.app import run as mcpgen
from tests.support.paths import CACHE, SPECS
from tests.support.wheel import run

NAME: Final = "petstore-mcp"
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
_PROGRAMS: Final = ("sh", "useradd")
_NOT_IN_THE_BASE: Final = (
    *("__pycache__", "config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3"),
    *("site-packages", "test", "tests", "tkinter", "turtledemo"),
)
# Of glibc and gcc, for what wheels contain; beside libc.so.6.
_LIBRARIES: Final = ("libdl.so.2", "libgcc_s.so.1", "libpthread.so.0", "librt.so.1")
_FILES: Final = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/login.defs": "",
    "etc/pip.conf": "[global]\nno-index = true\nfind-links = /wheelhouse\n",
    "usr/local/bin/pip": '#!/bin/sh\nPYTHONPATH=/usr/local/pip exec python -m pip "$@"\n',
}
# Serves over HTTP as the image does, and asks for its health as HEALTHCHECK does.
_SERVE_AND_CHECK: Final = """
import os, signal, subprocess, sys
from mcpgen.runtime.healthcheck import find_problem
arguments = ["/server/bin/petstore-mcp", "--http", "--host", "0.0.0.0", "--allow-remote"]
arguments += ["--port", "0"]
server = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
for line in server.stderr:
    print(line, end="")
    if "is served at" in line:
        break
port = line.rpartition(":")[2].partition("/")[0]
healthy = find_problem([*arguments[:-1], port])
server.send_signal(signal.SIGTERM)
server.wait()
stopped = find_problem([*arguments[:-1], port])
assert line, "the server ended"
print(f"user {os.getuid()}; healthy: {healthy!r}; stopped: {bool(stopped)}")
"""


class Builder:
    """buildah with its own storage, which needs neither a daemon nor mount privileges."""

    def __init__(self, folder: Path) -> None:
        self._storage = ("--storage-driver=vfs", f"--root={folder}/root", f"--runroot={folder}/run")

    def __call__(self, command: str, *arguments: str) -> str:
        """Run a buildah command; return its output."""
        isolated = ("--isolation=chroot",) if command in {"build", "run"} else ()
        # In a network namespace of its own, a build has nothing to connect to.
        prefix = ("unshare", "--net") if command == "build" else ()
        return run(*prefix, "buildah", *self._storage, command, *isolated, *arguments).strip()


def is_available() -> bool:
    """Return whether buildah is installed and may isolate processes on this machine."""
    if sys.platform != "linux" or shutil.which("buildah") is None:
        return False
    probe = ("unshare", "--net", "--mount", "true")
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def build_and_run(folder: Path) -> dict[str, Any]:
    """Build the image of a server and run it; return its configuration and its output."""
    builder = Builder(folder / "storage")
    _make_base(builder, folder / "base")
    project = folder / NAME
    options = ["--name=petstore", "--defaults", "--vendor-runtime", "-q"]
    options += ["--data", f"python_version={PYTHON}"]
    if mcpgen(["new", str(SPECS / "petstore.yaml"), str(project), *options]):
        raise RuntimeError("the project cannot be made")
    volume = f"--volume={CACHE}/wheelhouse:/wheelhouse:ro"
    given = ("--quiet", "--format=docker", "--pull=never", volume)
    builder("build", *given, f"--tag={NAME}", str(project))
    image = json.loads(builder("inspect", "--type=image", NAME))
    container = builder("from", "--pull=never", NAME)
    served = builder("run", container, "--", "/server/bin/python", "-c", _SERVE_AND_CHECK)
    files = builder("run", container, "--", "/bin/sh", "-c", "echo /server/bin/*")
    return {"config": image["Docker"]["config"], "served": served, "programs": files.split()}


def _make_base(builder: Builder, root: Path) -> None:
    """Make the base image of the Dockerfile: Python, pip, a shell and `useradd`."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    # Debian's own Python has modules of the machine's packages beside it.
    others = shutil.ignore_patterns(*_NOT_IN_THE_BASE)
    shutil.copytree(stdlib, _below(root, stdlib), ignore=others)
    shutil.copytree(Path(pip.__file__).parent, root / "usr/local/pip/pip")
    interpreter = Path(sys.executable).resolve()
    programs = [interpreter, *(Path(shutil.which(name) or name) for name in _PROGRAMS)]
    for path in {*programs, *_libraries([*programs, *stdlib.glob("lib-dynload/*.so")])}:
        _copy(path, root)
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "usr/local/bin/pip").chmod(0o755)
    (root / "usr/local/bin/python").symlink_to(interpreter)
    (root / "bin").mkdir(exist_ok=True)
    if not (root / "bin/sh").exists():
        (root / "bin/sh").symlink_to(Path(shutil.which("sh") or "sh"))
    (root / "tmp").mkdir(mode=0o1777)
    (root / "tmp").chmod(0o1777)
    container = builder("from", "scratch")
    builder("copy", "--quiet", container, str(root), "/")
    builder("config", "--env=PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
    builder(
        "commit", "--quiet", "--format=docker", container, f"docker.io/library/python:{PYTHON}-slim"
    )


def _libraries(programs: Iterable[Path]) -> set[Path]:
    """Return the shared libraries of programs, as found by the dynamic linker."""
    words = run("ldd", *map(str, programs)).split()
    found = {Path(word) for word in words if word[0] == "/" and ".so" in word and word[-1] != ":"}
    [libc] = [path for path in found if path.name == "libc.so.6"]
    return found | {path for name in _LIBRARIES if (path := libc.with_name(name)).exists()}


def _copy(path: Path, root: Path) -> None:
    place = _below(root, path)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path.resolve(), place)


def _below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def main() -> int:
    """Build and run the image, and print the results."""
    if not is_available():
        sys.stdout.write(
            "SKIPPED: there is no buildah that may build here (apt-get install buildah)\n"
        )
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found = build_and_run(Path(folder))
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

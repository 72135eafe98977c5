"""Install a third-party package into its own environment: `install.py DIR NAME==VERSION`.

fastmcp asks for a certifi that may not be published. It is installed without its requirements,
which are then installed with that one bound left out.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

PARTS = {
    "fastmcp": ["fastmcp", "fastmcp-slim"],
    "fastmcp-tasks": ["fastmcp", "fastmcp-slim", "fastmcp-tasks"],
}
"""Distributions that are released together."""
READ_REQUIREMENTS = """
import sys
from importlib.metadata import requires
extras = ("client", "server")
for name in sys.argv[1:]:
    for line in requires(name) or ():
        requirement, _, marker = line.partition(";")
        wanted = not marker or any(f"extra == {extra!r}" in marker for extra in extras)
        if wanted and "python_version >=" not in marker and not requirement.startswith("fastmcp"):
            print("certifi" if requirement.startswith("certifi") else requirement.strip())
"""


def install(directory: Path, pin: str) -> None:
    """Make the environment unless this pin is already installed."""
    stamp = directory / "installed.txt"
    if stamp.exists() and stamp.read_text() == pin:
        return
    venv.create(directory, with_pip=True, clear=True)
    python = directory / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    name, _, version = pin.partition("==")
    if name in PARTS:
        parts = PARTS[name]
        subprocess.run([*pip, "--no-deps", *(f"{part}=={version}" for part in parts)], check=True)
        listed = subprocess.run(
            [str(python), "-c", READ_REQUIREMENTS, *parts],
            check=True,
            capture_output=True,
            text=True,
        )
        subprocess.run([*pip, *sorted(set(listed.stdout.split("\n")) - {""})], check=True)
    else:
        subprocess.run([*pip, pin], check=True)
    stamp.write_text(pin)


if __name__ == "__main__":
    install(Path(sys.argv[1]), sys.argv[2])

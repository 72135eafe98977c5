"""Measure `mcpgen ws review` in a workspace of 200 servers, one of which changed.

`make bench` runs it. The workspace is that of `status.py`, committed to git. Of one server an
argument was narrowed and the server generated again, which is not committed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from generation import cost
from status import SERVERS, make_workspace

ROUNDS = 9
GOAL_SECONDS = 3.0
CHANGED = "servers/petstore-mcp-00"


def commit(root: Path) -> None:
    """Commit the whole workspace."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0")
    for words in (("init",), ("add", "--all"), ("commit", "--message", "servers")):
        command = ["git", *identity, *words, "--quiet"] if words[0] != "add" else ["git", *words]
        subprocess.run(command, cwd=root, check=True)


def change(root: Path, cache: Path) -> None:
    """Narrow an argument of one server, and regenerate the server."""
    document = root / CHANGED / "openapi.yaml"
    text = document.read_text("utf-8")
    changed = text.replace("maxItems: 3\n", "maxItems: 2\n", 1)
    if changed == text:
        sys.exit(f"{document} has no `maxItems: 3` any more")
    document.write_text(changed, "utf-8")
    cost(("generate", CHANGED), cache, here=root)


def measure(root: Path, cache: Path) -> list[dict[str, object]]:
    """Return a row for each command; every command must succeed."""
    page = str(root.parent / "review.md")
    rows: list[dict[str, object]] = []
    for words in (("ws", "review", "--markdown", page), ("review", CHANGED, "--markdown", page)):
        runs = [cost(words, cache, here=root) for _ in range(ROUNDS + 1)][1:]
        rows.append(
            {
                "command": " ".join(["mcpgen", *words[: words.index("--markdown")]]),
                "seconds": statistics.median(it.seconds for it in runs),
                "least_seconds": min(it.seconds for it in runs),
                "cpu_seconds": statistics.median(it.cpu_seconds for it in runs),
                "megabytes": max(it.megabytes for it in runs),
            }
        )
    return rows


def main() -> None:
    """Print the table, or JSON with `--json`; exit with 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("making the workspace ...", file=sys.stderr)
        root, cache = make_workspace(Path(folder)), Path(folder) / "cache"
        commit(root)
        change(root, cache)
        rows = measure(root, cache)
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print(f"| {SERVERS} servers, one changed | median | least | CPU | memory | goal |")
        print("|---|---|---|---|---|---|")
        for row in rows:
            print(
                f"| `{row['command']}` | {row['seconds']:.2f} s | {row['least_seconds']:.2f} s"
                f" | {row['cpu_seconds']:.2f} s | {row['megabytes']:.0f} MB | {GOAL_SECONDS:g} s |"
            )
    sys.exit(1 if any(float(str(row["seconds"])) > GOAL_SECONDS for row in rows) else 0)


if __name__ == "__main__":
    main()

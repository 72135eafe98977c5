"""Rendering of the first `evals/tasks.yaml` of a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from mcpgen.ir.eval_tasks import TASKS_FILE
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile
from mcpgen.jsonschema.types import JsonObject, JsonValue

_HEAD = """\
# Tasks for agents that use this server: `mcpgen eval` runs them with a mock of the API.
# This file is yours. mcpgen made the first tasks from workflows, links and collections of the API:
# write the goals as your users would, and add the tasks that matter to them.
# `mcpgen schema tasks` prints the JSON Schema of this file.

version: 1
tasks:
"""


def render_eval_tasks(tasks: Sequence[JsonObject]) -> FileSet:
    """Render the file; empty if there is no task that can be expressed in it."""
    shown = [list(_iterate_lines(task)) for task in tasks]
    blocks = ["\n".join(lines) for lines in shown if all(it.isprintable() for it in lines)]
    if not blocks:
        return ()
    text = _HEAD + "\n\n".join(blocks) + "\n"
    return (PlannedFile(TASKS_FILE, text.encode(), Owner.OWNED),)


def _iterate_lines(task: JsonObject) -> Iterator[str]:
    yield f"  - id: {_spell(task['id'])}"
    yield f"    goal: {_spell(task['goal'])}"
    for key in ("calls", "state"):
        if key in task:
            yield f"    {key}:"
            for entry in task[key]:
                for number, (name, value) in enumerate(entry.items()):
                    yield f"      {' ' if number else '-'} {name}: {_spell(value)}"


def _spell(value: JsonValue) -> str:
    """Return a value as JSON, which is YAML as well; the same for any order of members."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)

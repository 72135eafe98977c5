"""A reference agent for `mcpgen eval --agent` that chooses tools by words, without a model.

For each sentence of the goal it calls the tool whose title and description share most words with
it, in proportion to their own number. Values come from the goal ("name: Rex") and, for names that
end in "id", from the last result. It speaks the protocol of docs/how-to/eval.md.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

STOP = frozenset(
    "a an and by for from in it its of on one or the then to with me my us our".split()
)


def words(text: str) -> set[str]:
    found = re.findall(r"[a-z]+", text.lower())
    return {word.removesuffix("s") for word in found} - STOP


def score(sentence: set[str], tool: dict[str, Any]) -> float:
    told = words(f"{tool.get('title', '')} {tool.get('description', '')}")
    return len(sentence & told) / (len(told) or 1) ** 0.5


def fill(schema: dict[str, Any], sentence: str, last: Any) -> dict[str, Any]:
    """Choose values for required arguments, including those of nested objects."""
    arguments: dict[str, Any] = {}
    for name, about in schema.get("properties", {}).items():
        if "properties" in about:
            arguments[name] = fill(about, sentence, last)
        elif told := re.search(rf"\b{name}: ([\w-]+)", sentence):
            arguments[name] = int(told[1]) if about.get("type") == "integer" else told[1]
        elif name in schema.get("required", ()) and name.endswith("id") and isinstance(last, dict):
            arguments[name] = last.get("id")
    return arguments


def send(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def main() -> None:
    task = json.loads(sys.stdin.readline())
    last: Any = None
    for number, sentence in enumerate(re.split(r"\.\s*", task["goal"])):
        wanted = words(re.sub(r"\(.*?\)", "", sentence))
        if not wanted:
            continue
        tool = max(task["tools"], key=lambda it: (score(wanted, it), it["name"]))
        arguments = fill(tool["inputSchema"], sentence, last)
        send({"type": "call", "id": number, "tool": tool["name"], "arguments": arguments})
        last = json.loads(sys.stdin.readline()).get("result", {}).get("structuredContent")
    send({"type": "answer", "text": json.dumps(last)})


if __name__ == "__main__":
    main()

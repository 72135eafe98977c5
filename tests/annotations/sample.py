"""Sample the operations of the labelled set: at random, and from suspicious operations.

`python -m tests.annotations.sample [--texts] FOLDER` prints the operations as rows. FOLDER contains
the documents of which the corpus has no copy. `--texts` adds the texts of the operations, for the
person who labels them; these are never committed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.corpus import corpus_documents

SEED = 21
RANDOM_ROWS = 16
SUSPICIOUS_ROWS = 8
METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace", "query")

TUNING = {
    "slack": "slack_web_openapi_v2.json",  # of slackapi/slack-api-specs, not in the corpus
    "github": "openapi-23.0.2-generated-api.github.com.json",
    "trello": "ag-trello.com-1.0.yaml",
    "openai": "openai-openapi-openapi.yaml",
    "gitea": "ag-gitea.io-1.16.0-dev-138-gdb1e3d02a.yaml",
    "twilio": "twilio-oai-json-twilio_api_v2010.json",
    "spotify": "spotify-web-api-fixed-spotify-open-api.yaml",
    "plaid": "plaid-openapi-2020-09-14.yaml",
    "cloudformation": "ag-amazonaws.com-cloudformation-2010-05-15.yaml",
    "okta": "okta-management-openapi-spec-dist-legacy-v1-swagger.yaml",
}
"""Documents whose operations may be read while the rules are written."""

HELD_OUT = {
    "stripe": "ag-stripe.com-2020-08-27.yaml",
    "asana": "openapi-defs-asana_oas.yaml",
    "jira": "ag-atlassian.com-jira-1001.0.0-SNAPSHOT.yaml",
    "box": "box-openapi-openapi.json",
    "intercom": "Intercom-OpenAPI-descriptions-2.16-api.intercom.io.yaml",
    "plex": "plex-api-spec-plex-api-spec.yaml",
    "mimic": "ag-gambitcomm.local-mimic-21.00.yaml",
    "youtube": "ag-googleapis.com-youtube-v3.yaml",
    "organizations": "ag-amazonaws.com-organizations-2016-11-28.yaml",
    "pagerduty": "openapi-connectors-openapi-pagerduty-openapi.yaml",
}
"""Documents whose operations were labelled but not looked at while the rules were written."""

_CHANGES = re.compile(
    r"delet|remov|destroy|uninstall|revok|publish|purg|eras|reset|clear|cancel|archiv|unlink"
    r"|disabl|enabl|creat|updat|\badd|\bset|start|stop|send|run|kick|leave|approv|den[yi]"
    r"|logout|refresh|invalidat|rotat|scan|mark|save|\bpost|move|copy|import|trigger|restart"
)
_LOOKS = re.compile(
    r"search|query|quer|find|list|\bget|lookup|read|describ|preview|validat|estimat|count"
    r"|filter|check|calculat|export|test|batch.?get"
)
_ADDS = re.compile(r"add|like|star|follow|save|subscrib|watch|tag|label|member|join|append|assign")


@dataclass(frozen=True, slots=True)
class Sampled:
    """A sampled operation of a document; `stratum` is "random" or "suspicious"."""

    document: str
    stratum: str
    method: str
    path: str
    operation_id: str
    texts: str


def iterate_operations(document: str, root: dict[str, Any]) -> Iterator[Sampled]:
    """Yield the operations of a parsed document, in document order."""
    for path, item in root["paths"].items():
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                texts = [operation.get("summary"), operation.get("description")]
                yield Sampled(
                    document, "random", method.upper(), path, operation.get("operationId") or "",
                    " | ".join(" ".join(text.split()) for text in texts if text),
                )  # fmt: skip


def is_suspicious(operation: Sampled) -> bool:
    """Return whether words of the id, path or text contradict the usual meaning of the method."""
    last = [part for part in operation.path.split("/") if part and "{" not in part][-2:]
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", operation.operation_id)
    told = re.sub(r"[_\W]+", " ", " ".join([words, *last, operation.texts[:40]])).lower()
    match operation.method:
        case "GET":
            return bool(_CHANGES.search(told))
        case "POST":
            return bool(_LOOKS.search(told) or _CHANGES.search(told))
        case "PUT" | "PATCH":
            return bool(_ADDS.search(told) or _LOOKS.search(told))
        case _:
            return False


def sample(document: str, operations: Sequence[Sampled]) -> list[Sampled]:
    """Sample operations of one document; the sample depends only on the document and `SEED`."""
    chance = random.Random(f"{SEED}:{document}")
    chosen = chance.sample(operations, min(RANDOM_ROWS, len(operations)))
    others = [each for each in operations if each not in chosen and is_suspicious(each)]
    suspicious = chance.sample(others, min(SUSPICIOUS_ROWS, len(others)))
    return chosen + [
        Sampled(each.document, "suspicious", each.method, each.path, each.operation_id, each.texts)
        for each in suspicious
    ]


def read_document(file: str, folder: Path) -> dict[str, Any]:
    """Read a document of the corpus, or else one from `folder`."""
    paths = {each.name: each.path for each in corpus_documents()}
    text = paths.get(file, folder / file).read_text(encoding="utf-8")
    root = json.loads(text) if file.endswith(".json") else yaml.load(text, yaml.CBaseLoader)
    return {str(key): value for key, value in root.items()}


def main() -> None:
    """Print the sample of all documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", action="store_true")
    options = parser.parse_args()
    for document, file in (TUNING | HELD_OUT).items():
        operations = list(iterate_operations(document, read_document(file, options.folder)))
        for each in sample(document, operations):
            row = [each.document, each.stratum, each.method, each.path, each.operation_id]
            print("\t".join(row + ([each.texts] if options.texts else [])))


if __name__ == "__main__":
    main()

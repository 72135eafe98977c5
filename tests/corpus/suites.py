"""Run the generated tests of twenty real documents of different kinds: `make suites`.

A server is made of each in a temporary folder, its tests are run as its owner would run them, and
a table says how that went. `--mutate N` tries N faults in each as well, `--only TEXT` takes those
whose names have it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from mcpgen.cli.app import run
from tests.support.corpus import CORPUS, CorpusDocument, corpus_documents, is_present

KINDS = {
    "ag-appveyor.com-1.0.0.yaml": "2.0, bodies of many kinds",
    "ag-letmc.com-basic-tier-v2-basic-tier.yaml": "2.0, XML and forms",
    "ag-conjur.local-5.1.1.yaml": "3.0, text and binary bodies",
    "ag-redhat.local-patchman-engine-v1.15.3.yaml": "3.0, brackets in names",
    "ag-surevoip.co.uk-9dcb0dc8.yaml": "3.0, multipart, links",
    "kratos-.schema-api.openapi.json": "3.0, cookies as credentials",
    "oapi-codegen-parameters-roundtrip-parameters.yaml": "3.0, every style of parameter",
    "twilio-oai-json-twilio_studio_v2.json": "3.0, forms",
    "oas-examples-8.2.2-3.1-yaml-schema-types.yaml": "3.1, every type of schema",
    "redocly-cli-cafe.yaml": "3.2, binary answers, discriminators",
    "go-swagger-codegen-todolist.url.basepath.yaml": "2.0, every collection format",
    "ag-amazonaws.com-s3-2006-03-01.yaml": "3.0, XML alone",
    "ag-cpy.re-peertube-3.3.0.yaml": "3.0, encodings of parts, patterns that match nothing",
    "ag-maif.local-otoroshi-1.5.0-dev.yaml": "3.0, lines of JSON, a schema that allows nothing",
    "lob-openapi-dist-lob-api-bundled.yaml": "3.0, deep objects in forms and parts",
    "openapi-spec-tools-assets-mistral_ai.yaml": "3.1, choices, files, streams",
    "oas-examples-8.2.2-3.1-yaml-parameters-style.yaml": "3.1, styles of cookies and parts",
    "hellosign-openapi-oseg-security_schemes.yaml": "3.1, credentials: all of, one of, none",
    "openapi-openapi-inline-bundled_expected.yaml": "3.2, recursion, objects in queries",
    "redocly-cli-lint-oas3.2-openapi.yaml": "3.2, QUERY, streams, device flow",
}


def proved(document: CorpusDocument, folder: Path, mutants: int) -> dict[str, Any]:
    """Generate a server and run its tests; return `mcpgen test --json` with the duration."""
    project = folder / "server"
    code, said = quietly("new", str(document.path), str(project), "--defaults", "--name", "x")
    if code:
        raise RuntimeError(f"{document.name} gave exit code {code}: {said}")
    started = time.perf_counter()
    more = ["--mutate", "--limit", str(mutants)] if mutants else []
    _, said = quietly("test", str(project), "--json", *more)
    report: dict[str, Any] = json.loads(said)
    return {**report, "seconds": time.perf_counter() - started}


def quietly(*words: str) -> tuple[int, str]:
    """Run an mcpgen command; return its exit code and stdout."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        return run(words), out.getvalue()


def row(document: CorpusDocument, report: dict[str, Any]) -> str:
    """Format a report as a row of the table."""
    groups = generated(report)
    passed, failed, untested = (
        sum(group["passed"] for group in groups),
        sum(len(group["failed"]) for group in groups),
        sum(len(group["untested"]) for group in groups),
    )
    mutation = report.get("mutation")
    score = f" {mutation['killed']} / {mutation['judged']} |" if mutation else ""
    return (
        f"| {KINDS[document.name]} | {len(groups) - 1} | {passed:,} | {failed} | {untested}"
        f" | {report['seconds']:.1f} s |{score}"
    )


def generated(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the groups of the generated tests: one per tool, and one for the whole server."""
    return [group for group in report["groups"] if "/" not in group["group"]]


def main() -> int:
    """Print the table; return 1 if a test fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutate", type=int, default=0, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args()
    if not is_present():
        print(f"SKIPPED: there is no index.csv in {CORPUS}")
        return 0
    documents = {document.name: document for document in corpus_documents()}
    print("| document | tools | passed | failed | not made up | time |")
    print("|---|---|---|---|---|---|")
    failed = 0
    for name in filter(lambda name: options.only in name, KINDS):
        with tempfile.TemporaryDirectory() as folder:
            report = proved(documents[name], Path(folder), options.mutate)
        print(row(documents[name], report), flush=True)
        for group in report["groups"]:
            failed += len(group["failed"])
            for each in group["failed"]:
                print(f"failed: {group['group']}: {each['test']}: {each['reason'][:300]}")
            for each in group["untested"] if group in generated(report) else ():
                print(f"not made up: {group['group']}: {each['test']}: {each['reason'][:300]}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

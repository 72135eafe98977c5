"""Compare flat and nested bodies: `python -m tests.corpus.flat_bodies [PART_OF_A_NAME ...]`.

It plans each document of the corpus in both forms, passes sampled bodies to the tools of both, and
prints a table and all differences of the requests.
"""

from __future__ import annotations

import sys

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from tests.support.argument_forms import Compared, compare_forms
from tests.support.corpus import corpus_documents


def main() -> int:
    """Compare the forms and print the result; return 1 if there is a difference."""
    wanted = sys.argv[1:]
    whole, documents = Compared(), 0
    for document in corpus_documents():
        if wanted and not any(part in document.name for part in wanted):
            continue
        try:
            options = BuildOptions(external_validator=False)
            api = parse_source(str(document.path), options, Problems(), lambda _: None).api
        except RejectedError:
            continue
        documents += 1
        found = compare_forms(api)
        for name in ("bodies", "flat", "calls", "refused", "inexpressible"):
            setattr(whole, name, getattr(whole, name) + getattr(found, name))
        whole.differences += [f"{document.name}: {it}" for it in found.differences]
    print("| measure | number |\n|---|--:|")
    print(f"| documents | {documents:,} |\n| tools with a body | {whole.bodies:,} |")
    print(f"| with a flat body | {whole.flat:,} |\n| calls compared | {whole.calls:,} |")
    print(f"| of these, refused by both | {whole.refused:,} |")
    print(f"| bodies that no flat arguments send | {whole.inexpressible:,} |")
    print(f"| differences | {len(whole.differences):,} |")
    print(*whole.differences, sep="\n")
    return 1 if whole.differences else 0


if __name__ == "__main__":
    sys.exit(main())

"""Questions about large APIs, each with the operations that answer it (`bigapi/queries.tsv`)."""

from __future__ import annotations

import csv

from tests.support.paths import CACHE, REPOSITORY

QUERIES = REPOSITORY / "tests" / "bigapi" / "queries.tsv"
OCTOKIT = CACHE / "node" / "node_modules" / "@octokit" / "openapi" / "generated"
FOUND = {  # of how many, at least how many
    ("first", "github"): (50, 47),
    ("first", "chatdesk"): (15, 15),
    ("tuning", "github"): (157, 138),
    ("documentation", "github"): (50, 47),
    ("unseen", "github"): (50, 46),
    ("drawn", "github"): (100, 95),
    ("drawn_again", "github"): (110, 104),
    ("drawn_last", "github"): (155, 143),
    ("held", "github"): (60, 54),
}


def questions(name: str, document: str) -> list[tuple[str, list[str]]]:
    """Return the questions of a set about an API, each with the operations that answer it."""
    with QUERIES.open(newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [
        (row["query"], row["operations"].split(" or "))
        for row in rows
        if (row["set"], row["document"]) == (name, document)
    ]

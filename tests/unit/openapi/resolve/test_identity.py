"""Tests of recognizing versions of one document: with fewer signs, more operations must match."""

from __future__ import annotations

import pytest

from mcpgen.openapi.resolve.identity import Identity


def identity(title: str, host: str, *operations: str, ids: tuple[str, ...] = ()) -> Identity:
    hosts = frozenset({host} - {""})
    return Identity(title, hosts, frozenset(operations), frozenset(ids))


PETS = identity("Pets", "pets.example", "GET /a", "GET /b", "POST /a", "GET /health")


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (identity("Pets", "pets.example", "GET /a", "GET /new", "GET /other"), True),
        (identity("pets", "", "GET /a", "GET /b", "GET /new"), True),
        (identity("Shop", "pets.example", "GET /a", "GET /b", "GET /new"), True),
        (identity("Pet API", "other.example", "GET /a", "GET /b", "POST /a"), True),
        (identity("Pets", "", "GET /health", "GET /new"), False),  # any two have that one
        (identity("Pets", "pets.example", "GET /new"), False),  # two documents of one vendor
        (identity("Shop", "shop.example", "GET /health"), False),
        (identity("Shop", "shop.example", "GET /orders"), False),
        (identity("Pets", ""), True),
        (identity("Shop", ""), False),
    ],
)
def test_title_host_and_operations_identify_an_api(other: Identity, is_same: bool) -> None:
    assert PETS.is_same_api(other) is is_same
    assert other.is_same_api(PETS) is is_same


def test_operation_ids_identify_an_api_whose_paths_changed() -> None:
    old = identity("Pets", "pets.example", "GET /v1/a", "GET /v1/b", ids=("listA", "listB"))
    new = identity("Pets", "pets.example", "GET /v2/a", "GET /v2/b", ids=("listA", "listB"))
    assert old.is_same_api(new)

"""Tests of tool names: valid everywhere, distinct by words, independent of document order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pytest

from mcpgen.ir.api import Operation
from mcpgen.plan.naming.tool_names import ToolNaming
from tests.support.operations import operation


def tool_names(
    operations: Iterable[Operation], issued: Mapping[str, str] | None = None, limit: int = 48
) -> dict[str, str]:
    return ToolNaming(operations, limit).names(issued or {})


def name_of(*operations: Operation, limit: int = 48) -> list[str]:
    """Return the names, after checking that the order of the operations does not matter."""
    names = tool_names(operations, limit=limit)
    assert names == tool_names(operations[::-1], limit=limit)
    return [names[each.key] for each in operations]


def test_a_name_begins_with_a_letter() -> None:
    assert name_of(operation("2fa.enable")) == ["op_2fa_enable"]


def test_mixed_scripts_produce_visibly_different_names() -> None:
    names = tool_names([operation("admin"), operation("\u0430dmin", "/b")])
    assert sorted(names.values()) == ["admin", "u430_dmin"]


# Telling apart


@pytest.mark.parametrize(
    ("operations", "names"),
    [
        (
            [
                operation("list_items_warehouses__id__items_get", "/warehouses/{id}/items"),
                operation("list_items_orders__id__items_get", "/orders/{id}/items"),
            ],
            ["list_warehouse_items", "list_order_items"],
        ),
        (
            [operation("getById_1", "/users/{id}"), operation("getById_2", "/teams/{id}")],
            ["get_user_by_id", "get_team_by_id"],
        ),
        (
            [operation("search", "/users/search"), operation("searchAlt1", "/teams/search")],
            ["search_users", "search_teams"],
        ),
        (
            [operation("Delete a rule", "/sms/{id}"), operation("Delete a Rule", "/fax/{id}")],
            ["delete_sms_rule", "delete_fax_rule"],
        ),
        (
            [operation("", "/v1/users"), operation("", "/v2/users"), operation("", "/users")],
            ["list_users_v1", "list_users_v2", "list_users"],
        ),
        (
            [operation("listUsersV1", "/v1/users"), operation("listUsersV2", "/v2/users")],
            ["list_users_v1", "list_users_v2"],
        ),
        (
            [operation("", "/account/cards"), operation("", "/accounts/{account}/cards")],
            ["list_account_cards", "list_account_cards_by_account"],
        ),
        (
            [operation("updatePet", method="PUT"), operation("updatePet", method="PATCH")],
            ["update_pet_with_put", "update_pet"],
        ),
        (
            [operation("run", "/a b", tag="Jobs"), operation("run", "/a-b", tag="Models")],
            ["run_jobs", "run_models"],
        ),
        (
            [operation("find", "/x", required=("status",)), operation("find", "/X")],
            ["find_by_status", "find"],
        ),
        (
            [operation("find", "/x", deprecated=True), operation("find", "/X")],
            ["find_deprecated", "find"],
        ),
        (
            [operation("", "/jobs", "POST"), operation("", "/job", "POST")],
            ["create_job_jobs", "create_job"],
        ),
        (
            [operation("", "/x/y", summary="Old ones"), operation("", "/x-y", summary="New ones")],
            ["get_x_y_old", "get_x_y_new"],
        ),
    ],
)  # fmt: skip
def test_operations_with_the_same_phrase_are_distinguished_by_words(
    operations: list[Operation], names: list[str]
) -> None:
    assert name_of(*operations) == names


def test_a_number_that_distinguishes_nothing_is_kept() -> None:
    assert name_of(operation("report_24"), operation("hours", "/h")) == ["report_24", "hours"]


def test_words_that_distinguish_siblings_are_kept() -> None:
    ids = ["actions/list-secrets-for-org", "actions/list-secrets-for-repo"]
    assert name_of(operation(ids[0], "/orgs/{org}/x"), operation(ids[1], "/repos/{repo}/x")) == [
        "actions_list_secrets_for_org",
        "actions_list_secrets_for_repo",
    ]


def test_a_hash_is_the_last_resort() -> None:
    first, second = name_of(operation("run", "/a/b"), operation("run", "/a-b"))
    assert re.fullmatch(r"run_[0-9a-f]{6}", first)
    assert re.fullmatch(r"run_[0-9a-f]{6}", second)
    assert first != second


# Shortening


@pytest.mark.parametrize(
    ("operation_id", "limit", "name"),
    [
        ("getTheStatusOfAnOrder", 17, "get_status_order"),
        ("listOrganizationRepositories", 20, "list_org_repos"),
        ("Deployments_CreateOrUpdateAtScope", 30, "deployments_upsert_at_scope"),
    ],
)
def test_a_long_name_loses_its_least_informative_words(
    operation_id: str, limit: int, name: str
) -> None:
    (found,) = name_of(operation(operation_id), limit=limit)
    assert len(found) <= limit
    assert found == name


def test_words_common_to_many_names_are_removed_first() -> None:
    ids = ["integrationAccountAgreements_Delete", "integrationAccountMaps_Delete"]
    names = name_of(*(operation(each, f"/{each}") for each in ids), limit=28)
    assert names == ["account_agreements_delete", "account_maps_delete"]


def test_long_siblings_keep_their_distinguishing_words() -> None:
    ids = [f"{area}/add-selected-repo-to-org-secret" for area in ("actions", "codespaces")]
    names = name_of(*(operation(each, f"/{each}") for each in ids), limit=33)
    assert len(set(names)) == 2
    assert names[0].startswith("actions_")
    assert names[1].startswith("codespaces_")


def test_shortened_names_are_reported_with_the_full_name() -> None:
    naming = ToolNaming([operation("getTheStatusOfAnOrder")], 17)
    names = naming.names({})
    assert naming.find_shortened(names) == {"GET /pets": "get_the_status_of_an_order"}
    assert naming.find_shortened(naming.names({"GET /pets": "get_the_status_of_an_order"})) == {}


# Published names


def test_published_names_do_not_change() -> None:
    issued = {"GET /pets": "fetch_pets", "GET /gone": "list_pets"}
    names = tool_names([operation("listPets"), operation("fetchPets", "/new")], issued)
    assert names == {"GET /pets": "fetch_pets", "GET /new": "fetch_new_pets"}
    assert tool_names([operation("listPets", "/other")], issued) == {
        "GET /other": "list_other_pets"
    }


def test_a_name_follows_an_operation_whose_path_moved() -> None:
    naming = ToolNaming([operation("listPets", "/v2/pets"), operation("getPet", "/v2/pets/{id}")])
    published = {"GET /v1/pets": "list_pets", "POST /v1/pets/{id}": "get_pet"}
    names = naming.names(published, gone=published)
    assert names["GET /v2/pets"] == "list_pets"
    assert names["GET /v2/pets/{id}"] != "get_pet"  # was of another method


def test_a_name_of_an_operation_that_is_only_skipped_does_not_move() -> None:
    naming = ToolNaming([operation("listPets", "/v2/pets")])
    published = {"GET /v1/pets": "list_pets"}
    assert "list_pets" not in naming.names(published, gone=()).values()


def test_a_name_does_not_move_if_another_tool_has_it_by_now() -> None:
    naming = ToolNaming([operation("listPets", "/v2/pets"), operation("search", "/search")])
    published = {"GET /v1/pets": "list_pets", "GET /search": "list_pets"}
    assert naming.names(published, gone={"GET /v1/pets"})["GET /v2/pets"] != "list_pets"


def test_an_invalid_published_name_is_replaced() -> None:
    assert tool_names([operation("listPets")], {"GET /pets": "List Pets"}) == {
        "GET /pets": "list_pets"
    }


def test_a_prefix_is_added_to_the_tool_names_of_its_source() -> None:
    found = [operation("listPets", source="shop"), operation("listPets", source="zoo")]
    naming = ToolNaming(found, 24, prefixes={"shop": "shop_", "zoo": "zoo_"})
    assert naming.names({}) == {
        "shop:GET /pets": "shop_list_pets",
        "zoo:GET /pets": "zoo_list_pets",
    }


def test_the_source_distinguishes_tools_with_the_same_name() -> None:
    found = [operation("listPets", source="shop"), operation("listPets", source="zoo")]
    assert tool_names(found) == {
        "shop:GET /pets": "shop_list_pets",
        "zoo:GET /pets": "zoo_list_pets",
    }
    published = {"shop:GET /pets": "list_pets"}
    assert tool_names(found, published) == {**published, "zoo:GET /pets": "zoo_list_pets"}


def test_find_current_names_returns_only_changed_names() -> None:
    naming = ToolNaming([operation("listPets"), operation("listDogs", "/dogs")])
    names = {"GET /pets": "get_animals", "GET /dogs": "list_dogs"}
    assert naming.find_current_names(names) == {"GET /pets": "list_pets"}

"""Tests of naming operations by meaningful operationIds, summaries, methods and paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.plan.naming.operation_phrases import derive_phrase, is_opaque
from tests.support.operations import operation


def phrase(operation_id: str, request: str, summary: str = "", server: str = "") -> str:
    method, _, path = request.partition(" ")
    found = operation(operation_id, path, method, summary=summary, server=server)
    return "_".join(derive_phrase(found, operation_id))


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("listPets", "list_pets"),
        ("issues/list", "issues_list"),
        ("Pets_GetAll", "pets_get_all"),
        ("repos/get-content", "repos_get_content"),
        ("café", "cafe"),
        ("列表", "lie_biao"),
        ("получитьЗаказ", "poluchit_zakaz"),
        ("€uro", "eur_uro"),
        ("a\u200bb\u00b7c", "a_b_c"),
        ("é'x'", "e_x"),
        ("\U0002ebf0", "u2ebf0"),  # unknown to this version of the data
        ("naïve—list", "naive_list"),
        ("__import__", "import"),
        ("../../etc/passwd", "etc_passwd"),
        ("UsersController_findAll", "users_find_all"),
    ],
)
def test_an_operation_id_of_words_is_kept(operation_id: str, name: str) -> None:
    assert phrase(operation_id, "GET /pets") == name


@pytest.mark.parametrize(
    ("operation_id", "request_", "name"),
    [
        (
            "create_item_api_v1_warehouses__warehouse_id__items_post",
            "POST /api/v1/warehouses/{warehouse_id}/items",
            "create_item",
        ),
        (
            "create_item_api_v1_warehouses__warehouse_id__items_post",  # behind a gateway
            "POST /warehouses/{warehouse_id}/items",
            "create_item",
        ),
        (
            "create_item_warehouses__warehouse_id__items_post",  # mounted below a prefix
            "POST /shop/warehouses/{warehouse_id}/items",
            "create_item",
        ),
        ("list_secrets_for_org_orgs__org__secrets_get", "GET /orgs/{org}/secrets",
         "list_secrets_for_org"),
        ("chat_classifications_v1_chat_classifications_post", "POST /v1/chat/classifications",
         "chat_classifications"),
        ("health_health_get", "GET /health", "health"),
        ("root__get", "GET /", "root"),
        ("user_avatar_delete", "DELETE /users/{user}/avatar", "user_avatar_delete"),
        ("getCountryUsingGET", "GET /countries/{countryId}", "get_country"),
        ("postFindTerminal", "POST /findTerminal", "find_terminal"),
        ("logoutWithPost", "POST /logout", "logout_with_post"),
        ("createPost", "POST /posts", "create_post"),
        ("getPets", "GET /pets", "get_pets"),
    ],
)  # fmt: skip
def test_generated_parts_of_an_operation_id_are_left_out(
    operation_id: str, request_: str, name: str
) -> None:
    assert phrase(operation_id, request_, "Something else") == name


@pytest.mark.parametrize(
    ("operation_id", "request_"),
    [
        ("get-disputes-disputeId-attachments-attachmentId",
         "GET /disputes/{disputeId}/attachments/{attachmentId}"),
        ("deleteOrganisationsIdPlansPlanId", "DELETE /organisations/{id}/plans/{planId}"),
        ("put_users_id_folders_0", "PUT /users/{user_id}/folders/0"),
        ("patch-/crm/objects/{id}_update", "PATCH /crm/objects/{id}"),
        ("post_pets", "POST /api/v1/pets"),
        ("PostPets", "POST /pets"),
        ("getUsersByUserId", "GET /users/{userId}"),
        ("5476", "GET /pets"),
        ("op_5476", "GET /pets"),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "GET /pets"),
        ("9b1deb4d3b7d4bad", "GET /pets"),
        ("aB3xK9pQ2z", "GET /pets"),
        ("get_17", "GET /pets"),
        ("get", "GET /pets"),
    ],
)  # fmt: skip
def test_a_meaningless_operation_id_is_replaced_by_the_summary(
    operation_id: str, request_: str
) -> None:
    assert phrase(operation_id, request_, "Moves an owned thing.") == "move_owned_thing"


@pytest.mark.parametrize(
    ("summary", "name"),
    [
        ("", "get_pet"),
        ("This operation returns what the API knows about the pet with this id", "get_pet"),
        ("Показать питомца", "get_pet"),
        ("Pet report", "get_pet_report"),
        ("Permanently remove web link", "permanently_remove_web_link"),
        ("Retrieve the pet (slow)", "retrieve_pet"),
        ("Get a user's pet", "get_users_pet"),
    ],
)
def test_only_a_short_summary_becomes_a_name(summary: str, name: str) -> None:
    assert phrase("5476", "GET /pets/{petId}", summary) == name


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ("GET /pets", "list_pets"),
        ("GET /pets/{petId}", "get_pet"),
        ("POST /pets", "create_pet"),
        ("POST /pets/{petId}", "update_pet"),
        ("PUT /pets/{petId}", "replace_pet"),
        ("PATCH /pets/{petId}", "update_pet"),
        ("DELETE /pets/{petId}", "delete_pet"),
        ("HEAD /pets/{petId}", "check_pet"),
        ("QUERY /products", "query_products"),
        ("GET /api/v1/users/{id}/posts/{postId}.json", "get_user_post"),
        ("GET /users/{id}/posts", "list_user_posts"),
        ("GET /pets/findByStatus", "find_pets_by_status"),
        ("POST /pets/{petId}/archive", "archive_pet"),
        ("POST /charges/{charge}/refund", "refund_charge"),
        ("GET /orders/{id}/status", "get_order_status"),
        ("POST /rpc/get_default_organization", "get_default_organization"),
        ("POST /v1/{environment}:removePublicKey", "remove_public_key"),
        ("GET /search", "search"),
        ("GET /{owner}/{repo}/issues", "list_owner_repo_issues"),
        ("GET /files/{name}.{ext}", "get_file"),
        ("GET /", "get_root"),
        ("GET /news", "get_news"),
    ],
)  # fmt: skip
def test_without_an_operation_id_the_name_is_derived_from_the_request(
    request_: str, name: str
) -> None:
    assert phrase("", request_, "Some summary") == name


@pytest.mark.parametrize(
    ("operation_id", "request_", "name"),
    [
        ("Api::V1::Models#index", "GET /api/v1/models", "models_index"),
        ("readCoreV1NamespacedPod", "GET /api/v1/pods", "read_core_namespaced_pod"),
        ("sendV2", "GET /mail/send", "send_v2"),
        ("pets_list_pets", "GET /pets", "list_pets"),
        ("ArtifactService_GetInputArtifact", "GET /artifacts", "get_input_artifact"),
        ("FetchApprovalFetch", "GET /approvals", "fetch_approval"),
        ("AddonResource.deleteAddon_delete", "DELETE /addons/{key}/x", "delete_addon"),
        ("getTimeZoneTime", "GET /zones", "get_time_zone_time"),
        ("moveFileToFile", "GET /files", "move_file_to_file"),
        ("teams_groups_add_to_group", "GET /teams", "teams_groups_add_to_group"),
    ],
)
def test_versions_and_repeated_words_are_removed(
    operation_id: str, request_: str, name: str
) -> None:
    assert phrase(operation_id, request_) == name


def test_the_version_in_the_server_url_is_removed() -> None:
    server = "https://api.example.com/v3/"
    assert phrase("writer.v3.object.set", "GET /object", server=server) == "writer_object_set"


@pytest.mark.parametrize("text", ["oauth2", "listPets", "v2", "a", "mp3", "hscer", "sha256sum"])
def test_readable_ids_are_not_opaque(text: str) -> None:
    assert not is_opaque(text)


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.text(max_size=40),
    st.sampled_from(["GET", "PUT"]),
)
def test_every_phrase_consists_of_lower_case_ascii_words(
    operation_id: str, path: str, summary: str, method: str
) -> None:
    found = operation(operation_id, f"/{path}", method, summary=summary)
    words = derive_phrase(found, operation_id)
    assert words
    assert all(word.isascii() and word.isalnum() and word == word.lower() for word in words)

"""Names: legal everywhere, distinct, and independent of a document's order."""

from __future__ import annotations

import keyword
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.diagnostics import Location, Place
from mcpgen.ir.api import Operation
from mcpgen.ir.identifiers import safe_filename
from mcpgen.plan.naming import (
    ClassNames,
    argument_names,
    call_types,
    identifier,
    module_names,
    snake_case,
    tool_name_limit,
    tool_names,
)

TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}\Z")
ARGUMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")


def operation(operation_id: str = "", path: str = "/pets", method: str = "GET") -> Operation:
    return Operation(
        method=method,
        path=path,
        operation_id=operation_id,
        tag="default",
        summary="",
        description="",
        parameters=(),
        request_body=None,
        responses=(),
        security=(),
        servers=(),
        at=Place("", lambda _: Location("api.json")),
    )


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("listPets", "list_pets"),
        ("issues/list", "issues_list"),
        ("Pets_GetAll", "pets_get_all"),
        ("getHTTPStatus", "get_http_status"),
        ("repos/get-content", "repos_get_content"),
        ("2fa.enable", "op_2fa_enable"),
        ("café", "cafe"),
        ("列表", "lie_biao"),
        ("مدينة", "mdynh"),
        ("ผู้ใช้", "phuaich"),
        ("Straße", "strasse"),
        ("hentØl", "hent_ol"),
        ("получитьЗаказ", "poluchit_zakaz"),
        ("Αναζήτηση", "anazitisi"),
        ("가격조회", "ga_gyeog_jo_hoe"),
        ("ペットりすと", "pettorisuto"),
        ("Объём", "obem"),
        ("€uro", "eur_uro"),
        ("a\u200bb\u00b7c", "a_b_c"),
        ("é'x'", "e_x"),
        ("\U0002ebf0", "u2ebf0"),  # unknown to this version of the data
        ("naïve—list", "naive_list"),
        ("__import__", "import"),
        ("../../etc/passwd", "etc_passwd"),
    ],
)
def test_tool_names_are_snake_cased_operation_ids(operation_id: str, name: str) -> None:
    assert tool_names([operation(operation_id)], {}) == {"GET /pets": name}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/pets", "get_pets"),
        ("/pets/{petId}", "get_pets_by_pet_id"),
        ("/", "get"),
        ("/files/{name}.{ext}", "get_files_by_name_by_ext"),
    ],
)
def test_without_an_operation_id_the_request_names_the_tool(path: str, name: str) -> None:
    assert tool_names([operation(path=path)], {}) == {f"GET {path}": name}


def test_equal_names_are_told_apart_by_the_operation() -> None:
    operations = [operation("getPet"), operation("get-pet", "/pet"), operation("getPets", "/all")]
    names = tool_names(operations, {})
    assert names == tool_names(operations[::-1], {})
    assert names["GET /all"] == "get_pets"
    assert re.fullmatch(r"get_pet_[0-9a-f]{6}", names["GET /pets"])
    assert names["GET /pets"] != names["GET /pet"]
    third = operation("GetPet", "/third")
    assert tool_names([*operations, third], {}).items() >= names.items()


def test_long_name_is_cut_after_a_word() -> None:
    name = tool_names([operation("deleteTheVeryLongNameOfSomethingThatNobodyWantsToKeep")], {})[
        "GET /pets"
    ]
    assert len(name) <= 48
    assert re.fullmatch(r"delete_the_very_long_name_of_something_[0-9a-f]{6}", name)


def test_issued_names_never_move() -> None:
    issued = {"GET /pets": "fetch_pets", "GET /gone": "list_pets"}
    names = tool_names([operation("listPets"), operation("fetchPets", "/new")], issued)
    assert names["GET /pets"] == "fetch_pets"
    assert re.fullmatch(r"fetch_pets_[0-9a-f]{6}", names["GET /new"])
    taken = tool_names([operation("listPets", "/other")], issued)["GET /other"]
    assert taken != "list_pets"


def test_issued_name_that_is_none_is_made_anew() -> None:
    assert tool_names([operation("listPets")], {"GET /pets": "List Pets"}) == {
        "GET /pets": "list_pets"
    }


def test_names_leave_room_for_the_server_in_clients() -> None:
    assert tool_name_limit("petstore") == 48
    server = "a-server-with-a-long-name"
    assert len(f"mcp__{server}__") + tool_name_limit(server) <= 64


@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=12)), min_size=1, max_size=12))
def test_tool_names_are_legal_distinct_and_steady(drawn: list[tuple[str, str]]) -> None:
    operations = list(
        {
            item.key: item for item in (operation(identity, f"/{path}") for identity, path in drawn)
        }.values()
    )
    names = tool_names(operations, {})
    assert all(TOOL_NAME.match(name) for name in names.values())
    assert len(set(names.values())) == len(operations)
    assert names == tool_names(operations[::-1], {})


# Arguments


@pytest.mark.parametrize(
    ("wire_name", "name"),
    [
        ("petId", "pet_id"),
        ("filter[kind]", "filter_kind"),
        ("include[]", "include"),
        ("StartTime<", "start_time"),
        ("$top", "top"),
        ("x-api-version", "x_api_version"),
        ("3d", "n3d"),
        ("[]", "value"),
        ("class", "class"),
    ],
)
def test_arguments_are_snake_cased_wire_names(wire_name: str, name: str) -> None:
    assert argument_names([("query", wire_name)]) == {("query", wire_name): name}


def test_one_name_in_several_places_is_told_by_the_place() -> None:
    places = [("path", "id"), ("query", "id"), ("header", "id"), ("cookie", "ID")]
    assert list(argument_names(places).values()) == ["id", "query_id", "header_id", "cookie_id"]


def test_names_in_one_place_that_become_equal_stay_apart() -> None:
    one = argument_names([("query", "a.b"), ("query", "a_b"), ("query", "a-b")])
    assert len(set(one.values())) == 3
    assert one["query", "a_b"] == "a_b"
    assert one == argument_names([("query", "a-b"), ("query", "a_b"), ("query", "a.b")])


def test_body_is_always_the_body() -> None:
    assert argument_names([("query", "body")]) == {("query", "body"): "query_body"}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["path", "query", "header", "cookie"]),
            st.text(alphabet=string.printable, max_size=80) | st.text(max_size=20),
        ),
        unique=True,
        max_size=12,
    )
)
def test_argument_names_are_legal_and_distinct(places: list[tuple[str, str]]) -> None:
    names = argument_names(places)
    assert set(names) == set(places)
    assert len(set(names.values())) == len(places)
    assert all(ARGUMENT_NAME.match(name) for name in names.values())
    keywords = [identifier(name) for name in names.values()]
    assert len(set(keywords)) == len(places)


@pytest.mark.parametrize("name", ["id", "type", "class", "None", "match", "ctx", "list", "self"])
def test_identifiers_shadow_nothing(name: str) -> None:
    assert identifier(name) == f"{name}_"


@given(st.text(max_size=40))
def test_identifiers_are_python_names(text: str) -> None:
    name = identifier(text)
    assert name.isidentifier()
    assert name.isascii()
    assert not keyword.iskeyword(name)


# Modules and classes


def test_module_names_are_portable_and_distinct() -> None:
    tags = ["Pets", "pets", "CON", "..", "import", "../../etc", "shared", "4 legs", "🐈"]
    names = module_names(dict.fromkeys(tags, ""))
    assert len({name.lower() for name in names.values()}) == len(tags)
    for name in names.values():
        safe_filename(f"{name}.py")
        assert not keyword.iskeyword(name)
    assert "shared" not in names.values()


def test_class_names_differ_without_regard_to_case() -> None:
    names = ClassNames()
    assert names.give("pet-owner", "a") == "PetOwner"
    assert names.give("pet-owner", "a") == "PetOwner"
    other = names.give("Petowner", "b")
    assert re.fullmatch(r"Petowner_[0-9a-f]{6}", other)


@pytest.mark.parametrize("wanted", ["Context", "Literal", "None", "Any"])
def test_class_names_leave_those_of_handlers_alone(wanted: str) -> None:
    assert ClassNames().give(wanted, "x") != wanted


@pytest.mark.parametrize(
    ("text", "name"), [("A/B", "a_b"), ("", ""), ("ABCDef", "abc_def"), ("éé", "ee")]
)
def test_separators_never_vanish(text: str, name: str) -> None:
    assert snake_case(text) == name


def test_mixed_scripts_give_visibly_different_names() -> None:
    names = tool_names([operation("admin"), operation("\u0430dmin", "/b")], {})
    assert sorted(names.values()) == ["admin", "u430_dmin"]


def test_call_types_depend_on_the_operation_alone() -> None:
    keys = ["GET /pets/{petId}", "GET /pets/pet-id", "GET /", f"GET /{'a' * 200}"]
    operations = [operation(path=key.split()[1]) for key in keys]
    names = call_types(operations)
    assert names["GET /"] == "GetCall"
    assert call_types(operations[:1]) == {keys[0]: "GetPetsPetIdCall"}
    assert len(names[keys[3]]) < 100


def test_call_types_of_paths_that_spell_alike_are_told_apart() -> None:
    names = call_types([operation(path="/pets/{id}"), operation(path="/pets/id")])
    assert len(set(names.values())) == 2
    assert all(name.startswith("GetPetsId") and name.endswith("Call") for name in names.values())


def test_no_model_takes_the_name_of_a_call() -> None:
    assert ClassNames().give("PostPhoneCall", "#/PostPhoneCall") != "PostPhoneCall"
    assert ClassNames().give("PhoneCall", "#/PhoneCall") == "PhoneCall"

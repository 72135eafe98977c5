"""Tests of names of arguments, modules and classes: valid, distinct, independent of order."""

from __future__ import annotations

import keyword
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.plan.naming.names import (
    ClassNames,
    assign_argument_names,
    assign_call_types,
    assign_module_names,
    to_identifier,
)
from mcpgen.text.identifiers import safe_filename
from tests.support.operations import operation

ARGUMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")


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
    assert assign_argument_names([("query", wire_name)]) == {("query", wire_name): name}


def test_one_name_in_several_locations_is_prefixed_with_the_location() -> None:
    places = [("path", "id"), ("query", "id"), ("header", "id"), ("cookie", "ID")]
    assert list(assign_argument_names(places).values()) == [
        "id",
        "query_id",
        "header_id",
        "cookie_id",
    ]


def test_names_in_one_location_that_collide_are_made_unique() -> None:
    one = assign_argument_names([("query", "a.b"), ("query", "a_b"), ("query", "a-b")])
    assert len(set(one.values())) == 3
    assert one["query", "a_b"] == "a_b"
    assert one == assign_argument_names([("query", "a-b"), ("query", "a_b"), ("query", "a.b")])


@pytest.mark.parametrize(
    ("wire_name", "published", "name"),
    [
        ("floatingIPs", {"floating_i_ps"}, "floating_i_ps"),
        ("oAuth2Token", {"o_auth2_token", "limit"}, "o_auth2_token"),
        ("floatingIPs", {"floating_ips", "floating_i_ps"}, "floating_ips"),
        ("floatingIPs", {"floatingips", "floating_i_ps"}, "floating_ips"),  # which, is not known
        ("floatingIPs", {"limit"}, "floating_ips"),
    ],
)
def test_a_published_argument_keeps_its_spelling(
    wire_name: str, published: set[str], name: str
) -> None:
    assert assign_argument_names([("query", wire_name)], published) == {("query", wire_name): name}


def test_the_name_body_is_reserved_for_the_body() -> None:
    assert assign_argument_names([("query", "body")]) == {("query", "body"): "query_body"}


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
    names = assign_argument_names(places)
    assert set(names) == set(places)
    assert len(set(names.values())) == len(places)
    assert all(ARGUMENT_NAME.match(name) for name in names.values())
    keywords = [to_identifier(name) for name in names.values()]
    assert len(set(keywords)) == len(places)


@pytest.mark.parametrize("name", ["id", "type", "class", "None", "match", "ctx", "list", "self"])
def test_identifiers_that_would_shadow_a_name_get_an_underscore(name: str) -> None:
    assert to_identifier(name) == f"{name}_"


@given(st.text(max_size=40))
def test_identifiers_are_python_names(text: str) -> None:
    name = to_identifier(text)
    assert name.isidentifier()
    assert name.isascii()
    assert not keyword.iskeyword(name)


# Modules and classes


def test_module_names_are_portable_and_distinct() -> None:
    tags = ["Pets", "pets", "CON", "..", "import", "../../etc", "shared", "4 legs", "🐈"]
    names = assign_module_names(dict.fromkeys(tags, ""))
    assert len({name.lower() for name in names.values()}) == len(tags)
    for name in names.values():
        safe_filename(f"{name}.py")
        assert not keyword.iskeyword(name)
    assert "shared" not in names.values()


def test_class_names_are_unique_ignoring_case() -> None:
    names = ClassNames()
    assert names.assign("pet-owner", "a") == "PetOwner"
    assert names.assign("pet-owner", "a") == "PetOwner"
    other = names.assign("Petowner", "b")
    assert re.fullmatch(r"Petowner_[0-9a-f]{6}", other)


@pytest.mark.parametrize("wanted", ["Context", "Literal", "None", "Any"])
def test_class_names_do_not_collide_with_names_used_by_handlers(wanted: str) -> None:
    assert ClassNames().assign(wanted, "x") != wanted


def test_call_types_depend_only_on_their_operation() -> None:
    keys = ["GET /pets/{petId}", "GET /pets/pet-id", "GET /", f"GET /{'a' * 200}"]
    operations = [operation(path=key.split()[1]) for key in keys]
    names = assign_call_types(operations)
    assert names["GET /"] == "GetCall"
    assert assign_call_types(operations[:1]) == {keys[0]: "GetPetsPetIdCall"}
    assert len(names[keys[3]]) < 100


def test_call_types_of_similar_paths_are_distinguished() -> None:
    names = assign_call_types([operation(path="/pets/{id}"), operation(path="/pets/id")])
    assert len(set(names.values())) == 2
    assert all(name.startswith("GetPetsId") and name.endswith("Call") for name in names.values())


def test_a_model_does_not_get_the_name_of_a_call_type() -> None:
    assert ClassNames().assign("PostPhoneCall", "#/PostPhoneCall") != "PostPhoneCall"
    assert ClassNames().assign("PhoneCall", "#/PhoneCall") == "PhoneCall"

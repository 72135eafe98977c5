"""Tests of the entries for hidden credentials in the first manifest of a project."""

from __future__ import annotations

import pytest
import yaml

from mcpgen.ir.credentials import HiddenCredential
from mcpgen.render.manifest_yaml import in_flow, parameter_entries, source_entries

BEARER = {"type": "http", "scheme": "bearer"}


def argument(subject: str, name: str, *, is_certain: bool) -> HiddenCredential:
    entry = {"type": "apiKey", "in": "query", "name": name}
    return HiddenCredential(
        "secret-argument", subject, ("a",), is_certain=is_certain, schemes={name: entry}
    )


@pytest.mark.parametrize(
    "value",
    [
        {"type": "apiKey", "in": "query", "name": "key"},
        {"no": "yes", "on": ["null", None, True, 1], "n": "1"},
        {'a"b': "x: # y\n- z\u2028\\"},
        [{"token": []}, {}],
        "",
    ],
)
def test_a_value_is_written_on_one_line_and_parsed_back(value: object) -> None:
    text = in_flow(value)
    assert "\n" not in text
    assert yaml.safe_load(text) == value


def test_entries_and_comments_of_one_source_form_one_mapping() -> None:
    credentials = [
        argument("the query parameter `key`", "key", is_certain=True),
        argument("the query parameter `other`", "other", is_certain=False),
    ]
    text = source_entries(credentials)
    assert list(yaml.safe_load(text)["security_schemes"]) == ["key"]
    uncommented = text.replace("    #   other", "      other")
    assert list(yaml.safe_load(uncommented)["security_schemes"]) == ["key", "other"]


def test_a_hostile_parameter_name_stays_within_its_comment() -> None:
    hostile = "key`\n    security: [{x: []}]\r    y: 1\u2028    z: 1"
    text = source_entries([argument(f"the query parameter `{hostile}`", hostile, is_certain=True)])
    assert list(yaml.safe_load(text)) == ["security_schemes"]
    text = parameter_entries(
        [
            HiddenCredential(
                "secret-argument", hostile, ("a",), True, parameters={"*": {hostile: {}}}
            )
        ]
    )
    assert yaml.safe_load(text) == {"operations": {"*": {"parameters": {hostile: {}}}}}


def test_an_api_without_credentials_gets_empty_security() -> None:
    denied = HiddenCredential("no-credentials", "", ("a",), is_certain=True)
    assert yaml.safe_load(source_entries([denied])) == {"security": []}


def test_without_findings_nothing_is_written() -> None:
    assert source_entries([]) == ""
    assert parameter_entries([]) == ""

"""Tests that templates write only escaped values, and fail for undefined names."""

from __future__ import annotations

import jinja2
import pytest

from mcpgen.ir.templates import template_root
from mcpgen.render.environment import UnsafeTextError, code_environment, literal
from mcpgen.text.identifiers import Identifier


@pytest.mark.parametrize("raw", ["text", 1, None, ["a"]])
def test_a_raw_value_raises_unsafe_text_error(raw: object) -> None:
    template = code_environment().from_string("{{ value }}")
    with pytest.raises(UnsafeTextError):
        template.render(value=raw)


def test_safe_text_and_identifiers_are_rendered() -> None:
    template = code_environment().from_string("{{ name }} = {{ value }}")
    assert template.render(name=Identifier("a"), value=literal("b")) == "a = 'b'"


def test_joined_safe_text_is_treated_as_raw() -> None:
    template = code_environment().from_string("{{ value + value }}")
    with pytest.raises(UnsafeTextError):
        template.render(value=literal("b"))


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        code_environment().from_string("{{ missing }}").render()


def test_both_template_folders_are_found() -> None:
    assert (template_root() / "code/_generated/tools/group.py.jinja").is_file()
    assert (template_root() / "skeleton/copier.yml").is_file()

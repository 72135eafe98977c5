"""Properties of tool names of any document: valid, distinct, and independent of its order."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mcpgen.ir.api import Operation
from mcpgen.plan.naming.tool_names import ToolNaming
from tests.support.operations import operation

_operations = st.lists(
    st.builds(
        operation,
        st.one_of(st.text(max_size=60), st.sampled_from(["get", "list_1", "list_2", "a/b", "a_b"])),
        st.one_of(
            st.text(max_size=12).map("/{}".format),
            st.sampled_from(["/a/{b}", "/v1/a", "/v2/a", "/a-b", "/a/b", "/A/B"]),
        ),
        st.sampled_from(["GET", "PUT", "POST", "x-do"]),
        summary=st.text(max_size=30),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda each: each.key,
)


@given(_operations, st.integers(24, 64))
def test_tool_names_are_legal_distinct_and_independent_of_order(
    operations: list[Operation], limit: int
) -> None:
    names = ToolNaming(operations, limit).names({})
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names.values())
    assert all(len(name) <= limit for name in names.values())
    assert len(set(names.values())) == len(operations)
    assert names == ToolNaming(operations[::-1], limit).names({})


@given(_operations, _operations)
def test_added_operations_do_not_rename_existing_tools(
    operations: list[Operation], added: list[Operation]
) -> None:
    names = ToolNaming(operations).names({})
    later = [each for each in added if each.key not in names]
    grown = ToolNaming([*later, *operations]).names(names)
    assert grown.items() >= names.items()
    assert len(set(grown.values())) == len(grown)

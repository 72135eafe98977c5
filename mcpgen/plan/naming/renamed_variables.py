"""What earlier runs published for operations whose paths name their parameters otherwise now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TypeVar

from msgspec.structs import replace

from mcpgen.plan.policy import Policy
from mcpgen.text.uri_template import mask_variables

T = TypeVar("T")


def follow_renamed_variables(policy: Policy, keys: Collection[str]) -> Policy:
    """Return the policy with what was published by the `keys` that the operations have now.

    `/pets/{id}` and `/pets/{petId}` are the same path (OpenAPI, Paths Object), so a tool whose
    path only names its parameters otherwise keeps its name.
    """
    known = policy.issued_names
    if known.keys() <= set(keys):
        return policy
    new = _by_path(set(keys) - known.keys())
    gone = _by_path(known.keys() - set(keys))
    renamed = {key: new[path] for path, key in gone.items() if path in new}
    return replace(
        policy,
        issued_names=_rename_keys(policy.issued_names, renamed),
        published_calls=_rename_keys(policy.published_calls, renamed),
        published_arguments=_rename_keys(policy.published_arguments, renamed),
        published_members=_rename_keys(policy.published_members, renamed),
    )


def _by_path(keys: Collection[str]) -> dict[str, str]:
    """Return operation keys by what they are without names of variables, if only one is so."""
    count = Counter(map(mask_variables, keys))
    return {path: key for key in keys if count[path := mask_variables(key)] == 1}


def _rename_keys(published: Mapping[str, T], renamed: Mapping[str, str]) -> dict[str, T]:
    return {renamed.get(key, key): value for key, value in published.items()}

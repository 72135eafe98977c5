"""The common parts of the manifests of both kinds of plugins."""

from __future__ import annotations

from mcpgen.factory.bundle.description import BundleDescription
from mcpgen.factory.bundle.json_file import omit_empty
from mcpgen.jsonschema.types import JsonObject


def describe_plugin(description: BundleDescription) -> JsonObject:
    """Return the members that identify the plugin and its publisher."""
    return omit_empty(
        {
            "name": description.distribution,
            "version": description.version,
            "description": description.summary,
            "author": omit_empty({"name": description.author, "email": description.author_email}),
            "homepage": description.homepage,
            "repository": description.repository,
            "license": description.license,
            "keywords": [*description.keywords],
        }
    )

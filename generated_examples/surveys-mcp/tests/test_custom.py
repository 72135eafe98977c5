"""Tests of your own; mcpgen wrote this file once and never touches it again."""

from importlib.metadata import PackageNotFoundError, version

import pytest

from surveys_mcp import __version__


def test_the_installed_server_is_this_one() -> None:
    try:
        installed = version("surveys-mcp")
    except PackageNotFoundError:
        pytest.skip("the package is not installed: its source is tested as it lies here")
    assert installed == __version__

"""Tests of your own. mcpgen created this file and never changes it."""

from importlib.metadata import PackageNotFoundError, version

import pytest

from twilio_mcp import __version__


def test_the_installed_server_is_this_one() -> None:
    try:
        installed = version("twilio-mcp")
    except PackageNotFoundError:
        pytest.skip("the package is not installed: the tests import its source")
    assert installed == __version__

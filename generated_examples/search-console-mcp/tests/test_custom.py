"""Tests of your own; mcpgen wrote this file once and never touches it again."""

from importlib.metadata import version

from search_console_mcp import __version__


def test_the_installed_server_is_this_one() -> None:
    assert version("search-console-mcp") == __version__

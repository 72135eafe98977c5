"""A browser and a loop that all tests of views share; the views of a made-up server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.support.browser import Browser, running_browser

Story = Callable[[Browser], Coroutine[Any, Any, None]]


@pytest.fixture(scope="session")
def tell() -> Iterator[Callable[[Story], None]]:
    """Run a story with the browser of the session."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        browser = runner.run(stack.enter_async_context(running_browser()))
        yield lambda story: runner.run(story(browser))
        runner.run(stack.aclose())

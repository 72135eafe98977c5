"""Browser fixture shared by all tests of the session."""

from __future__ import annotations

from tests.support.browser import tell

__all__ = ["tell"]

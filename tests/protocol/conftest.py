"""What tests of the protocol share."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "requirement(*ids): the rows of requirements.tsv that the test holds"
    )

"""Tests of the Dockerfile of a generated server, built by a real builder without network access."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installation.image import build_and_run, is_available


@pytest.mark.skipif(not is_available(), reason="there is no buildah that may build here")
def test_image_builds_without_network_and_serves_as_an_ordinary_user(tmp_path: Path) -> None:
    found = build_and_run(tmp_path)

    config = found["config"]
    assert config["User"] == "10001"
    assert config["Entrypoint"] == ["/server/bin/petstore-mcp"]
    assert list(config["ExposedPorts"]) == ["8000/tcp"]
    check = ["CMD", "/server/bin/python", "-m", "mcpgen.runtime.healthcheck"]
    assert config["Healthcheck"]["Test"] == check
    assert found["served"].endswith("user 10001; healthy: ''; stopped: True")
    # Nothing of the build is left over.
    assert not {"/server/bin/pip", "/server/bin/hatchling"} & set(found["programs"])

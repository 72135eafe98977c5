"""Tests that the setting SEARCH_MODEL is checked at startup, in a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.contract import extras
from mcpgen.contract.extras import MissingExtraError
from mcpgen.runtime.embeddings import trial
from mcpgen.runtime.embeddings.folder import ModelError
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.search_model import find_model
from mcpgen.runtime.startup.startup_checks import find_invalid_settings
from tests.support.embedding_models import write_model

SETTING = "SHOP_SEARCH_MODEL"
CONTRACT = {"name": "shop", "env_prefix": "SHOP_", "search": {}}
CHECK = f"""
import sys
from mcpgen.runtime.startup.startup_checks import find_invalid_settings
print(len(find_invalid_settings({CONTRACT!r}, {{"{SETTING}": sys.argv[1]}})))
print(*{{"numpy", "onnxruntime", "tokenizers"}} & sys.modules.keys())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("damaged", "problems"), [(False, "0"), (True, "1")])
def test_the_process_that_checks_a_model_does_not_import_its_libraries(
    tmp_path: Path, *, damaged: bool, problems: str
) -> None:
    write_model(tmp_path)
    if damaged:
        (tmp_path / "model.onnx").write_bytes(b"")
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == f"{problems}\n\n"


@pytest.mark.slow
def test_a_model_that_cannot_be_used_is_an_invalid_setting(tmp_path: Path) -> None:
    folder = tmp_path / "canary"
    write_model(folder, inputs=("input_ids", "pixels"))
    (error,) = find_invalid_settings(CONTRACT, {SETTING: f" {folder}"})
    assert error.setting == SETTING
    assert str(error).startswith(
        f"invalid {SETTING}: `model.onnx` has the inputs input_ids, pixels, expected `input_ids`"
    )
    assert "canary" not in str(error)


def test_the_setting_is_for_servers_with_search_alone(tmp_path: Path) -> None:
    environ = {SETTING: str(tmp_path)}
    assert find_model(CONTRACT, environ) == str(tmp_path)
    assert find_model(CONTRACT, {SETTING: " "}) == ""
    others = {"name": "shop", "env_prefix": "SHOP_"}
    assert find_model(others, environ) == ""
    assert find_invalid_settings(others, environ) == []
    credential = {"name": SETTING, "scheme": "key", "part": "value"}
    assert find_model({**CONTRACT, "environment": [credential]}, environ) == ""
    with pytest.raises(ConfigurationError, match=f"invalid {SETTING}: expected printable"):
        find_model(CONTRACT, {SETTING: "a\x07b"})


def test_a_missing_extra_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.MODULE_OF_EXTRA, "embeddings", "not_installed")
    (error,) = find_invalid_settings(CONTRACT, {SETTING: str(tmp_path)})
    assert str(error) == (
        f"mcpgen[embeddings] is not installed, which {SETTING} needs:"
        " run `pip install 'mcpgen[embeddings]'`"
    )


NOT_IMPORTED, INSTALL = (
    "mcpgen[embeddings] cannot be imported",
    MissingExtraError("embeddings").command,
)
# The replaced library, the code of its replacement, and the expected message.
LIBRARIES = {
    "hangs": (
        "tokenizers",
        "import threading; threading.Event().wait()",
        "the model could not be tried out within 0.5 seconds",
    ),
    "crashes": (
        "onnxruntime",
        "import os; os.abort()",
        "the process that tried out the model ended with signal 6",
    ),
    "exits": (
        "onnxruntime",
        "import os; os._exit(3)",
        "the process that tried out the model ended with exit code 3",
    ),
    "is damaged": (
        "tokenizers",
        "import no_such_module",
        f"{NOT_IMPORTED} (No module named 'no_such_module'): run `{INSTALL}`",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", LIBRARIES)
def test_a_library_that_fails_does_not_take_the_server_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    name, source, message = LIBRARIES[fault]
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    seconds = 0.5 if fault == "hangs" else trial.TRIAL_SECONDS
    with pytest.raises(ModelError) as caught:
        trial.try_model(str(write_model(tmp_path / "model")), seconds=seconds)
    assert str(caught.value) == message


def test_an_interpreter_that_does_not_start_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(ModelError, match="could not be tried out: No such file or directory"):
        trial.try_model(str(tmp_path))

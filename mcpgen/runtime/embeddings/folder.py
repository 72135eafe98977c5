"""The files in the folder of a model, and the error of a model that cannot be used."""

from __future__ import annotations

from typing import Final

MODEL_FILE: Final = "model.onnx"
TOKENIZER_FILE: Final = "tokenizer.json"


class ModelError(Exception):
    """The model cannot be used. The message completes "invalid SEARCH_MODEL: …"."""

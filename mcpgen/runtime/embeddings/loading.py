"""Loading of a model, by which the libraries of `mcpgen[embeddings]` are imported first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcpgen.contract.extras import MissingExtraError
from mcpgen.runtime.embeddings.folder import MODEL_FILE, TOKENIZER_FILE, ModelError

if TYPE_CHECKING:
    from mcpgen.runtime.embeddings.model import EmbeddingModel


def load_model(folder: str) -> EmbeddingModel:
    """Load a model, in a process that does not fork afterwards: ONNX Runtime starts threads.

    Raises:
        ModelError: a file or a package is missing, or the model cannot be used.
    """
    files = (os.path.join(folder, name) for name in (MODEL_FILE, TOKENIZER_FILE))  # noqa: PTH118  (importing pathlib costs 9 ms)
    if not all(map(os.path.isfile, files)):
        raise ModelError(f"expected a folder with the files `{MODEL_FILE}` and `{TOKENIZER_FILE}`")
    try:
        from mcpgen.runtime.embeddings.model import EmbeddingModel  # 40 MB
    except ImportError as error:
        command = MissingExtraError("embeddings").command
        raise ModelError(
            f"mcpgen[embeddings] cannot be imported ({error}): run `{command}`"
        ) from None
    return EmbeddingModel(folder)

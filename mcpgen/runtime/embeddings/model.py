"""An embedding model in ONNX, and its tokenizer. Only `load_model` imports this module."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
from tokenizers import Tokenizer

from mcpgen.runtime.embeddings.folder import MODEL_FILE, TOKENIZER_FILE, ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TOKENS: Final = 128
"""Maximum number of tokens; the rest of a text is ignored."""
_INPUTS: Final = {"input_ids", "attention_mask", "token_type_ids"}
_SILENT: Final = 4  # of the library's log levels; its exceptions have the messages
_MAX_REASON: Final = 300  # characters of a library's message


class EmbeddingModel:
    """Maps a text to the mean of the vectors of its tokens, with the length 1."""

    def __init__(self, folder: str) -> None:
        """Load `model.onnx` and `tokenizer.json` from a folder.

        Raises:
            ModelError: they cannot be loaded, or the model has other inputs.
        """
        with _explain(f"`{TOKENIZER_FILE}` cannot be loaded", folder):
            self._tokenizer = Tokenizer.from_file(os.path.join(folder, TOKENIZER_FILE))  # noqa: PTH118  (libraries take text)
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(MAX_TOKENS)
        with _explain(f"`{MODEL_FILE}` cannot be loaded", folder):
            self._session = _open_session(os.path.join(folder, MODEL_FILE))  # noqa: PTH118
        self._inputs = [it.name for it in self._session.get_inputs()]
        if "input_ids" not in self._inputs or not _INPUTS.issuperset(self._inputs):
            raise ModelError(
                f"`{MODEL_FILE}` has the inputs {', '.join(self._inputs)}, expected `input_ids` and"
                " at most `attention_mask` and `token_type_ids` besides"
            )
        self._folder = folder

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text.

        Raises:
            ModelError: the model fails, or its first output is not a vector for each token.
        """
        encoded = self._tokenizer.encode(text)
        return self._embed_tokens(encoded.ids, encoded.type_ids)

    def try_out(self) -> None:
        """Embed the longest and the shortest text, and the last token of the tokenizer.

        Raises:
            ModelError: as `embed`, or the vectors have different sizes or no direction.
        """
        last = max(self._tokenizer.get_vocab().values())
        vectors = [
            self.embed("word " * MAX_TOKENS),
            self.embed(""),
            self._embed_tokens([last], [0]),
        ]
        if len({len(vector) for vector in vectors}) > 1 or not vectors[0].any():
            raise ModelError(f"`{MODEL_FILE}` returns no vectors of one size for texts")

    def _embed_tokens(self, ids: Sequence[int], types: Sequence[int]) -> NDArray[np.float32]:
        values = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types}
        feed = {name: np.array([values[name]], dtype=np.int64) for name in self._inputs}
        with _explain(f"`{MODEL_FILE}` fails", self._folder):
            output = np.asarray(self._session.run(None, feed)[0])
        if output.ndim != 3 or output.shape[:2] != (1, len(ids)):
            raise ModelError(
                f"the first output of `{MODEL_FILE}` has the shape {list(output.shape)} for a text"
                f" of {len(ids)} tokens, expected [1, {len(ids)}, SIZE]"
            )
        vector = output[0].mean(axis=0, dtype=np.float32)
        length = float(np.linalg.norm(vector))
        return vector / length if 0 < length < np.inf else np.zeros_like(vector)


def _open_session(path: str) -> Any:
    """Open a session that computes in the calling thread, so that results are repeatable."""
    onnxruntime.disable_telemetry_events()  # of its builds for Windows
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _SILENT
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@contextmanager
def _explain(what: str, folder: str) -> Generator[None]:
    """Convert the exceptions of the libraries, which have no class in common."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (tokenizers raises `Exception` itself)
        text = str(error).replace(os.path.join(folder, ""), "")  # noqa: PTH118
        reason = " ".join(text.split())[:_MAX_REASON] or type(error).__name__
        raise ModelError(f"{what}: {reason}") from None

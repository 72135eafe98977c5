"""Semantic similarity of tools to a query, computed in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mcpgen.runtime.embeddings.folder import ModelError
from mcpgen.runtime.embeddings.loading import load_model
from mcpgen.runtime.process.log import log

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mcpgen.runtime.embeddings.model import EmbeddingModel

_AT_ONCE: Final = 16  # texts between two chances to stop


class ToolNearness:
    """The similarity of queries and tools, by the cosine of their vectors.

    A thread of its own does the work in turn, so that neither the event loop nor the thread of long
    responses waits for it. The model is loaded for the first query.
    """

    def __init__(self, folder: str, read_texts: Callable[[], Mapping[str, str]]) -> None:
        """`folder` contains the model; `read_texts` returns a text for each tool, by name."""
        self._folder = folder
        self._read_texts = read_texts
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search-model")
        self._vectors: list[NDArray[np.float32]] = []  # of the tools, as far as they are made
        self._has_failed = False

    async def rate(self, question: str) -> Mapping[str, float]:
        """Return the cosine of a question and each tool, by name.

        The first question waits for the vectors of all tools. A model that fails after the trial
        at the start is reported once, and nothing is near to anything from then on.
        """
        if self._has_failed:
            return {}
        run = asyncio.get_running_loop().run_in_executor
        try:
            while await run(self._thread, self._embed_some_tools):
                pass
            return await run(self._thread, self._compare, question)
        except ModelError as error:
            if not self._has_failed:
                log("error", f"the search ranks by words alone, since its model failed: {error}")
            self._has_failed = True
            return {}

    def close(self) -> None:
        """Stop the thread, after at most a few texts."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    @cached_property
    def _model(self) -> EmbeddingModel:
        return load_model(self._folder)

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return self._read_texts()

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        import numpy as np

        return np.stack(self._vectors)

    def _embed_some_tools(self) -> bool:
        """Embed the next tools; return whether there are more."""
        done = len(self._vectors)
        for text in list(self._texts.values())[done : done + _AT_ONCE]:
            self._vectors.append(self._model.embed(text))
        return len(self._vectors) < len(self._texts)

    def _compare(self, question: str) -> Mapping[str, float]:
        import numpy as np

        # Not `@`: the threads of BLAS, of which this needs none, wait actively for more work.
        cosines = np.einsum("ij,j->i", self._matrix, self._model.embed(question))
        return dict(zip(self._texts, cosines.tolist(), strict=True))

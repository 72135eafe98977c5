"""Tiny embedding models: known words have one direction each, other words a short vector.

They are in the form of real ones, `model.onnx` and `tokenizer.json`, and take milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

UNKNOWN, FIRST = 0, 1  # token ids
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
BY_TOKEN = helper.make_node("Gather", ["table", "input_ids"], ["vectors"])


def write_model(
    folder: Path,
    directions: Mapping[str, int] | None = None,
    *,
    inputs: Sequence[str] = INPUTS,
    nodes: Sequence[onnx.NodeProto] = (BY_TOKEN,),
    rows: int = 0,
) -> Path:
    """Write a model of these words, and return its folder.

    `directions` are numbers from 1 to 7. The output is that of the last node. `rows` is the size of
    the model's vocabulary, by default that of the tokenizer.
    """
    words = directions or {}
    ids = {"[UNK]": UNKNOWN, "[CLS]": FIRST} | {word: it for it, word in enumerate(words, 2)}
    folder.mkdir(parents=True, exist_ok=True)
    _write_tokenizer(folder / "tokenizer.json", ids)
    table = np.zeros((len(ids), 8), dtype=np.float32)
    table[UNKNOWN, 0] = 0.1
    for word, direction in words.items():
        table[ids[word], direction] = 1
    graph = helper.make_graph(
        list(nodes),
        "tiny",
        [helper.make_tensor_value_info(it, TensorProto.INT64, [1, "tokens"]) for it in inputs],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)],
        [numpy_helper.from_array(table[: rows or None], "table")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, folder / "model.onnx")
    return folder


def _write_tokenizer(path: Path, ids: Mapping[str, int]) -> None:
    made: Any = Tokenizer(models.WordLevel(dict(ids), unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", FIRST)]
    )
    # As all-MiniLM-L6-v2 has them; neither may have an effect.
    made.enable_padding(length=20)
    made.enable_truncation(10)
    made.save(str(path))

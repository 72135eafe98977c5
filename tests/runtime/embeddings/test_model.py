"""Tests of text vectors, and of error messages for unusable models."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto, helper

from mcpgen.runtime.embeddings.folder import ModelError
from mcpgen.runtime.embeddings.loading import load_model
from mcpgen.runtime.embeddings.model import MAX_TOKENS
from tests.support.embedding_models import BY_TOKEN, INPUTS, write_model


def test_a_text_has_the_mean_of_its_tokens_with_the_length_1(tmp_path: Path) -> None:
    model = load_model(str(write_model(tmp_path, {"cat": 3, "dog": 4})))
    model.try_out()
    np.testing.assert_allclose(model.embed("Cat cat"), np.eye(8)[3])
    np.testing.assert_allclose(model.embed("cat dog"), (np.eye(8)[3] + np.eye(8)[4]) / np.sqrt(2))
    assert not model.embed("").any()


def test_a_text_is_cut_and_not_padded(tmp_path: Path) -> None:
    model = load_model(str(write_model(tmp_path, {"cat": 3, "dog": 4})))
    most = MAX_TOKENS - 1  # besides the first token
    np.testing.assert_allclose(model.embed("cat " * most + "dog " * 10_000), np.eye(8)[3])
    assert model.embed("cat " * (most - 1) + "dog")[4] > 0


@pytest.mark.parametrize("inputs", [INPUTS[:1], INPUTS[:2], tuple(reversed(INPUTS))])
def test_a_model_may_have_fewer_inputs(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    model = load_model(str(write_model(tmp_path, {"cat": 3}, inputs=inputs)))
    model.try_out()
    assert model.embed("cat")[3] == 1


def make(kind: str, inputs: list[str], **attributes: str) -> NodeProto:
    return helper.make_node(kind, inputs, ["made"], **attributes)


def damage(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(b"{no model")


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no model": (remove("model.onnx"), "expected a folder with the files `model.onnx` and "),
    "no tokenizer": (remove("tokenizer.json"), "expected a folder with the files `model.onnx` and"),
    "a damaged model": (damage("model.onnx"), "`model.onnx` cannot be loaded: "),
    "a damaged tokenizer": (damage("tokenizer.json"), "`tokenizer.json` cannot be loaded: "),
    "other inputs": (
        lambda folder: write_model(folder, inputs=("input_ids", "pixel_values")),
        "`model.onnx` has the inputs input_ids, pixel_values, expected `input_ids` and",
    ),
    "no tokens as input": (
        lambda folder: write_model(
            folder, inputs=("attention_mask",), nodes=[make("Gather", ["table", "attention_mask"])]
        ),
        "`model.onnx` has the inputs attention_mask, expected `input_ids`",
    ),
    "numbers without vectors": (
        lambda folder: write_model(folder, nodes=[BY_TOKEN, make("Flatten", ["vectors"])]),
        "the first output of `model.onnx` has the shape [1, 1024] for a text of 128 tokens,",
    ),
    "vectors of several sizes": (
        lambda folder: write_model(
            folder,
            nodes=[BY_TOKEN, make("Einsum", ["vectors", "vectors"], equation="abc,adc->abd")],
        ),
        "`model.onnx` returns no vectors of one size for texts",
    ),
    "vectors without a direction": (
        lambda folder: write_model(folder, nodes=[BY_TOKEN, make("Sub", ["vectors"] * 2)]),
        "`model.onnx` returns no vectors of one size for texts",
    ),
    "another vocabulary": (
        lambda folder: write_model(folder, {"cat": 3, "dog": 4}, rows=3),
        "`model.onnx` fails: ",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_cannot_be_used_is_described(tmp_path: Path, fault: str) -> None:
    spoil, message = FAULTS[fault]
    spoil(write_model(tmp_path, {"cat": 3}))
    with pytest.raises(ModelError, match=re.escape(message)) as caught:
        load_model(str(tmp_path)).try_out()
    assert str(tmp_path) not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_folder_has_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"expected a folder with the files `model\.onnx`"):
        load_model(str(tmp_path / "missing"))

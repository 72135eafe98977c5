"""Tests of the similarity of tools and questions, computed outside of the event loop."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from mcpgen.runtime.embeddings import nearness
from mcpgen.runtime.embeddings.model import EmbeddingModel
from mcpgen.runtime.embeddings.nearness import ToolNearness
from tests.support.embedding_models import write_model

WORDS = {"cat": 3, "kitten": 3, "dog": 4}
TEXTS = {"get_cat": "cat", "get_dog": "dog", "get_pets": "cat dog"}


def open_nearness(folder: Path, texts: dict[str, str] = TEXTS) -> ToolNearness:
    return ToolNearness(str(write_model(folder, WORDS)), lambda: texts)


def test_tools_are_near_to_words_of_the_same_meaning(tmp_path: Path) -> None:
    near = open_nearness(tmp_path)
    found = asyncio.run(near.rate("kitten"))
    again = asyncio.run(near.rate("kitten"))
    near.close()
    assert found == again
    assert found == pytest.approx({"get_cat": 1, "get_dog": 0, "get_pets": 0.5**0.5})


def test_each_tool_is_embedded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[str] = []
    embed = EmbeddingModel.embed
    begun = asyncio.Event()
    texts = {f"tool_{number}": f"cat {number}" for number in range(5)}
    monkeypatch.setattr(nearness, "_AT_ONCE", 2)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()

        def record(self: EmbeddingModel, text: str) -> object:
            embedded.append(text)
            loop.call_soon_threadsafe(begun.set)
            return embed(self, text)

        monkeypatch.setattr(EmbeddingModel, "embed", record)
        near = open_nearness(tmp_path, texts)
        cancelled = asyncio.create_task(near.rate("mouse"))
        await begun.wait()
        cancelled.cancel()
        await asyncio.gather(near.rate("dog"), near.rate("dog"))
        assert len(await near.rate("kitten")) == 5
        near.close()

    asyncio.run(scenario())
    assert sorted(embedded) == sorted([*texts.values(), "dog", "dog", "kitten"])


def test_the_event_loop_goes_on_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    embed = EmbeddingModel.embed

    def wait_and_embed(self: EmbeddingModel, text: str) -> object:
        assert threading.current_thread() is not threading.main_thread()
        assert goes_on.wait(60), "the event loop is blocked"
        return embed(self, text)

    monkeypatch.setattr(EmbeddingModel, "embed", wait_and_embed)

    async def scenario() -> None:
        near = open_nearness(tmp_path)
        rating = asyncio.create_task(near.rate("cat"))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(goes_on.set)
        assert len(await rating) == len(TEXTS)
        near.close()

    asyncio.run(scenario())


def list_threads() -> set[str]:
    return {task.name for task in Path("/proc/self/task").iterdir()}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_model_computes_in_one_thread(tmp_path: Path) -> None:
    first = open_nearness(tmp_path)
    asyncio.run(first.rate("cat"))  # loads the libraries
    before = list_threads()
    second = open_nearness(tmp_path)
    asyncio.run(second.rate("cat"))
    assert len(list_threads() - before) == 1
    first.close()
    second.close()


def test_a_model_that_fails_later_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near = open_nearness(tmp_path)
    (tmp_path / "model.onnx").unlink()

    async def scenario() -> list[object]:
        return [await asyncio.gather(near.rate("cat"), near.rate("dog")), await near.rate("cat")]

    assert asyncio.run(scenario()) == [[{}, {}], {}]
    near.close()
    assert capsys.readouterr().err == (
        "error: the search ranks by words alone, since its model failed: expected a folder with the"
        " files `model.onnx` and `tokenizer.json`\n"
    )

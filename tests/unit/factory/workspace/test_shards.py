"""Tests of `--shard I/N`: even, the same on every machine, and stable when a server is added."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.cli.app import run
from mcpgen.factory.workspace.members import Server
from mcpgen.factory.workspace.shards import Shard, ShardError, measure_work, split_work
from tests.support.workspaces import Ws, ended, rules

FLEETS = st.dictionaries(
    st.text("abcdefgh-/é", min_size=1, max_size=12), st.integers(1, 10**6), max_size=40
)


def make_fleet(seed: int, servers: int) -> dict[str, int]:
    """Return the work of servers of very different sizes, as in a real workspace."""
    sizes = random.Random(seed)
    return {
        f"servers/{sizes.randrange(10**6)}-mcp": int(sizes.lognormvariate(9.5, 1))
        for _ in range(servers)
    }


def measure_shards(work: dict[str, int], count: int) -> list[int]:
    placed = split_work(work, count)
    return [sum(work[it] for it in work if placed[it] == shard) for shard in range(1, count + 1)]


@given(FLEETS, st.integers(1, 9), st.randoms(use_true_random=False))
def test_every_server_is_in_one_shard_whatever_the_order(
    work: dict[str, int], count: int, order: random.Random
) -> None:
    paths = list(work)
    order.shuffle(paths)
    placed = split_work(work, count)
    assert placed.keys() == work.keys()
    assert set(placed.values()) <= set(range(1, count + 1))
    assert split_work({path: work[path] for path in paths}, count) == placed


@given(FLEETS, st.integers(1, 9))
def test_no_shard_exceeds_the_average_by_more_than_a_tenth_or_one_server(
    work: dict[str, int], count: int
) -> None:
    average = sum(work.values()) / count
    bound = max(average * 1.1, average + max(work.values(), default=0))
    assert max(measure_shards(work, count)) <= bound


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_shards_of_a_workspace_are_nearly_even(count: int) -> None:
    most = [max(measure_shards(make_fleet(seed, 200), count)) for seed in range(20)]
    average = [sum(make_fleet(seed, 200).values()) / count for seed in range(20)]
    excess = [m / a for m, a in zip(most, average, strict=True)]
    assert sum(excess) / len(excess) < 1.15


def test_a_new_server_moves_few_others() -> None:
    moved = 0
    for seed in range(100):
        work = make_fleet(seed, 30)
        before = split_work(work, 4)
        after = split_work({**work, "servers/new-mcp": 20_000}, 4)
        moved += sum(after[path] != shard for path, shard in before.items())
    assert moved / 100 < 2  # of 30 servers; a random split would move 22


def test_the_split_is_the_same_in_every_version() -> None:
    work = {f"servers/{name}-mcp": 1000 * size for size, name in enumerate("abcdef", 1)}
    assert split_work(work, 3) == {
        "servers/a-mcp": 3,
        "servers/b-mcp": 3,
        "servers/c-mcp": 2,
        "servers/d-mcp": 3,
        "servers/e-mcp": 1,
        "servers/f-mcp": 2,
    }


def test_the_form_of_accents_does_not_matter() -> None:
    composed, decomposed = "servers/caf\u00e9", "servers/cafe\u0301"
    for count in range(2, 9):
        others = {f"servers/{number}": 50 for number in range(20)}
        one = split_work({composed: 10, **others}, count)
        other = split_work({decomposed: 10, **others}, count)
        assert one[composed] == other[decomposed]


def test_line_ends_of_the_lock_do_not_matter(tmp_path: Path) -> None:
    for name, content in (("unix", b"{\n}\n"), ("windows", b"{\r\n}\r\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mcpgen.lock").write_bytes(content)
    unix, windows = (Server(name, tmp_path / name) for name in ("unix", "windows"))
    assert measure_work(unix) == measure_work(windows) > measure_work(Server("x", tmp_path / "x"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "0/3",
        "4/3",
        "-1/3",
        "1/0",
        "1/1001",
        "a/b",
        "1/3/5",
        " 1/3",
        "1/3\n",
        "\u0661/\u0663",
    ],
)
def test_an_invalid_shard_is_rejected(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ShardError):
        Shard.parse(text)
    assert run(["ws", "test", f"--shard={text}"]) == 2
    assert "help: use I/N" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list", "check", "pull", "changelog", "generate", "upgrade"])
def test_shards_process_each_server_once(ws: Ws, command: str) -> None:
    found = [ws(command, "--shard", f"{index}/2")[1]["servers"] for index in (1, 2)]
    assert sorted(row["server"] for rows in found for row in rows) == [
        "servers/ant", "servers/bee", "servers/cat",
    ]  # fmt: skip
    assert all(found)


@pytest.mark.slow
def test_shards_split_the_named_servers_and_skip_unaffected_ones(ws: Ws, workspace: Path) -> None:
    for names in (("ant", "bee"), ("servers/bee", "ant")):
        found = [ended(ws("check", *names, "--shard", f"{index}/2")[1]) for index in (1, 2)]
        assert [len(each) for each in found] == [1, 1]
    for name in ("ant", "bee", "cat"):  # or they would be the same to the byte
        (workspace / "servers" / name / "notes.txt").write_text(name)
    ws("check", "--affected", "--shard", "1/2")
    _, report = ws("check", "--affected", "--shard", "1/2")
    assert (report["servers"], report["shard"]) == ([], "1/2")
    assert report["unaffected"] + len(ended(ws("check", "--affected", "--shard", "2/2")[1])) == 3


@pytest.mark.slow
def test_more_shards_than_servers_are_no_error(ws: Ws) -> None:
    found = [ws("check", "--shard", f"{index}/5") for index in range(1, 6)]
    assert {code for code, _ in found} == {0}
    assert sorted(len(report["servers"]) for _, report in found) == [0, 0, 1, 1, 1]


@pytest.mark.slow
def test_root_files_are_written_by_no_shard_and_checked_by_the_first(
    ws: Ws, workspace: Path
) -> None:
    readme = workspace / "README.md"
    stale = readme.read_text().replace("Pet Shop", "Cat Shop")
    readme.write_text(stale)
    for index in (1, 2):
        assert ws("generate", "--shard", f"{index}/2")[0] == 0
    assert readme.read_text() == stale

    assert [ws("check", "--shard", f"{index}/2")[0] for index in (1, 2)] == [1, 0]
    assert rules(ws("check", "--shard", "1/2")[1]) == [("stale", "README.md")]

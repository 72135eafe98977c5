"""Tests that the list of third-party servers is complete enough and pins exact versions."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.validate.third_party.servers import read_servers, write_samples

EXACT = {
    "pypi": re.compile(r"[\w.-]+==[\w.]+\Z"),
    "npm": re.compile(r"(@[\w-]+/)?[\w.-]+@[\w.-]+\Z"),
}
PLACEHOLDERS = {"{at}", "{files}", "{port}"}


def test_there_are_servers_of_both_registries() -> None:
    found = Counter(server.registry for server in read_servers())
    assert found.keys() == EXACT.keys()
    assert found.total() >= 12


def test_pins_are_exact() -> None:
    loose = [
        pin
        for server in read_servers()
        for pin in server.pins
        if not EXACT[server.registry].match(pin)
    ]
    assert loose == []


def test_placeholders_of_commands_are_known() -> None:
    for server in read_servers():
        words = [*server.command, *server.stdio, *server.http, *server.environment.values()]
        used = {it for word in words for it in re.findall(r"\{\w+\}", word)}
        assert used <= PLACEHOLDERS, server.name
        assert bool(server.endpoint) == bool(server.http), server.name


def test_sample_files_are_written_to_an_empty_folder(tmp_path: Path) -> None:
    write_samples(tmp_path)
    written = {path.name for path in tmp_path.iterdir()}
    assert {"repository", "pets.sqlite", "toolbox.yaml", "kubeconfig.yaml"} <= written

"""The table of attributes, and checks of the data that a collector received against it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.otlp_receiver import OtlpReceiver, read_attributes

_KINDS = {2: "server span", 3: "client span"}


class Row(NamedTuple):
    """What the conventions state about one attribute in one place."""

    level: str
    type: str
    value: str


def read_table() -> dict[str, dict[str, Row]]:
    """Return the rows by place and name."""
    table: dict[str, dict[str, Row]] = {}
    for line in Path(__file__).with_name("attributes.tsv").read_text().splitlines():
        if not line.startswith("#"):
            place, name, level, kind, value, source = line.split("\t")
            assert level in {"required", "conditional", "recommended", "opt-in"}
            assert source.startswith(("mcp ", "http ", "own"))
            table.setdefault(place, {})[name] = Row(level, kind, value)
    return table


TABLE = read_table()


def check(place: str, attributes: dict[str, Any]) -> None:
    """Check that all attributes are in the table, and that no required one is missing."""
    rows = TABLE[place]
    assert attributes.keys() <= rows.keys(), place
    for name, row in rows.items():
        if name not in attributes:
            assert row.level != "required", f"{place}: {name} is missing"
            continue
        value = attributes[name]
        assert type(value).__name__ == row.type, f"{place}: {name} is {value!r}"
        assert re.fullmatch(row.value, str(value), re.DOTALL), f"{place}: {name} is {value!r}"


def check_all(receiver: OtlpReceiver) -> None:
    """Check every span and every data point that a collector received."""
    assert receiver.spans or receiver.metrics
    for span in receiver.spans:
        check(_KINDS[span.kind], span.attributes)
        assert (span.status == 2) == ("error.type" in span.attributes)
    for name, metric in receiver.metrics.items():
        data = getattr(metric, metric.WhichOneof("data"))
        assert data.data_points
        for point in data.data_points:
            check(name, read_attributes(point.attributes))

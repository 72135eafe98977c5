"""All experiments, by their groups, in the order of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpgen.factory.robustness.experiments import (
    arguments,
    cancellation,
    disconnects,
    frames,
    http,
    memory,
    requests,
)
from mcpgen.factory.robustness.experiments.kinds import Experiment

GROUPS: Final[Mapping[str, tuple[Experiment, ...]]] = {
    "frames": frames.EXPERIMENTS,
    "requests": requests.EXPERIMENTS,
    "cancellation": cancellation.EXPERIMENTS,
    "arguments": arguments.EXPERIMENTS,
    "disconnects": (*disconnects.EXPERIMENTS, *http.EXPERIMENTS),
    "memory": memory.EXPERIMENTS,
}

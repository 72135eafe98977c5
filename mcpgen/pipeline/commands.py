"""All of `mcpgen.pipeline` that its callers use, under one name."""

from mcpgen.changelog import Level
from mcpgen.pipeline.changelog import ChangelogReport, changelog
from mcpgen.pipeline.check import check
from mcpgen.pipeline.generate import generate
from mcpgen.pipeline.new import new, new_by_hand
from mcpgen.pipeline.options import (
    CheckReport,
    FileDiff,
    GenerateOptions,
    Options,
    Progress,
    Report,
)
from mcpgen.pipeline.pull import Pull, PullOutcome, pull, write_pull

__all__ = [
    "ChangelogReport",
    "CheckReport",
    "FileDiff",
    "GenerateOptions",
    "Level",
    "Options",
    "Progress",
    "Pull",
    "PullOutcome",
    "Report",
    "changelog",
    "check",
    "generate",
    "new",
    "new_by_hand",
    "pull",
    "write_pull",
]

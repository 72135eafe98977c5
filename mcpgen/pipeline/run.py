"""The functions of `mcpgen.pipeline` that commands and tests call, under one name."""

from mcpgen.changelog import Level
from mcpgen.pipeline.commands.changelog import ChangelogReport, changelog
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new, new_by_hand
from mcpgen.pipeline.commands.pull import Pull, PullResult, pull, write_pull
from mcpgen.pipeline.options import (
    CheckReport,
    FileDiff,
    GenerateOptions,
    Options,
    Outcome,
    Progress,
    Report,
)

__all__ = [
    "ChangelogReport",
    "CheckReport",
    "FileDiff",
    "GenerateOptions",
    "Level",
    "Options",
    "Outcome",
    "Progress",
    "Pull",
    "PullResult",
    "Report",
    "changelog",
    "check",
    "generate",
    "new",
    "new_by_hand",
    "pull",
    "write_pull",
]

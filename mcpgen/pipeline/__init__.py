"""Where the stages are joined: `new`, `generate` and `check`."""

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

__all__ = [
    "CheckReport",
    "FileDiff",
    "GenerateOptions",
    "Options",
    "Progress",
    "Report",
    "check",
    "generate",
    "new",
    "new_by_hand",
]

"""From the plan to source text, by templates that only lay out."""

from mcpgen.render.package import render

__all__ = ["render"]

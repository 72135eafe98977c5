"""Sections of a result on a terminal: a heading, and texts that are wrapped beside their labels."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_section(console: Console, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a section; a text in brackets at the end is dim."""
    console.print(Text(f"{heading}:", "bold"))  # no blank lines: they cost a screen its content
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=0)  # indents the labels
    table.add_column(no_wrap=True)
    table.add_column()
    for label, text in rows:
        if not label:
            console.print(Text(f"  {text}"), soft_wrap=True)
            continue
        decided, bracket, change = text.rpartition(" [")
        content = Text(decided if bracket else change)
        if bracket:
            content.append(f" [{change}", "dim")
        table.add_row("", Text(label), content)
    if table.row_count:
        console.print(table)

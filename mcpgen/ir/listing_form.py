"""The form in which a server lists its tools, on which clients rely and which the lock records."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

OUTPUT_BUDGET: Final = 1500
"""The tokens of an output schema in servers whose lock records no other number."""


class ListingForm(Struct, frozen=True, omit_defaults=True):
    """The form of a listing. The defaults are those of locks that record none."""

    arguments: str = "nested"  # or "flat", if members of bodies are arguments
    output_budget: int = OUTPUT_BUDGET  # the most tokens of one output schema
    shares_shapes: bool = False  # whether output schemas define a repeated shape once, in `$defs`

    @property
    def has_output_limits(self) -> bool:
        """Whether descriptions are omitted from output schemas that are over the budget."""
        return self.shares_shapes or self.output_budget != OUTPUT_BUDGET


NEW_SERVERS: Final = ListingForm("flat", 1000, shares_shapes=True)
"""The form of a server whose lock does not exist yet."""

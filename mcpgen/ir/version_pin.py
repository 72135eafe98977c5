"""Version specifiers for mcpgen in a workspace file (PEP 440)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

# packaging is imported on use: `generate` needs only the name of the workspace file.
_BARE_VERSION = re.compile(r"[0-9][\w.+!*]*\Z")


class VersionPin(Struct, frozen=True):
    """A range of versions of mcpgen."""

    text: str  # as written in the file
    versions: SpecifierSet

    @classmethod
    def parse(cls, text: str) -> VersionPin:
        """Parse a specifier: "==1.4.*", ">=1.4,<1.5"; a bare "1.4.*" or "1.4.2" means "==".

        Raises:
            ValueError: the specifier is invalid.
        """
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return cls(text, SpecifierSet(f"=={text}" if _BARE_VERSION.match(text) else text))
        except InvalidSpecifier as error:
            raise ValueError(str(error)) from None

    @classmethod
    def parse_requirement(cls, text: str) -> VersionPin:
        """Parse a requirement: "mcpgen>=1.4,<1.5".

        Raises:
            ValueError: the requirement is invalid, or requires another distribution.
        """
        from packaging.requirements import InvalidRequirement, Requirement

        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise ValueError(str(error)) from None
        if requirement.name != "mcpgen":
            raise ValueError(f"expected a requirement of mcpgen, found {requirement.name}")
        return cls(text, requirement.specifier)

    def allows(self, version: str) -> bool:
        """Return whether `version` is in the range; pre-releases are allowed."""
        return self.versions.contains(version, prereleases=True)

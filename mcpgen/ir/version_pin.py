"""A range of versions, as a workspace pins them (PEP 440)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

# packaging is imported where it is used: whoever only asks for the workspace file's name, as
# `generate` does, would wait for it.
_BARE_VERSION = re.compile(r"[0-9][\w.+!*]*\Z")


class VersionPin(Struct, frozen=True):
    """Some versions of mcpgen, and no others."""

    text: str  # as it was written
    versions: SpecifierSet

    @classmethod
    def parse(cls, text: str) -> VersionPin:
        """Read a specifier: "==1.4.*", ">=1.4,<1.5"; a bare "1.4.*" or "1.4.2" means "==" it.

        Raises:
            ValueError: it is none.
        """
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return cls(text, SpecifierSet(f"=={text}" if _BARE_VERSION.match(text) else text))
        except InvalidSpecifier as error:
            raise ValueError(str(error)) from None

    @classmethod
    def parse_requirement(cls, text: str) -> VersionPin:
        """Read a requirement of mcpgen: "mcpgen>=1.4,<1.5".

        Raises:
            ValueError: it is none, or one of something else.
        """
        from packaging.requirements import InvalidRequirement, Requirement

        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise ValueError(str(error)) from None
        if requirement.name != "mcpgen":
            raise ValueError(f"a requirement of {requirement.name}")
        return cls(text, requirement.specifier)

    def allows(self, version: str) -> bool:
        """Whether `version` is one of them; a pre-release is, if it lies in the range."""
        return self.versions.contains(version, prereleases=True)

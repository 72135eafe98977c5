"""Whom a client trusts to be the API: the system's certificate authorities, and the operator's."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from mcpgen.runtime.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Authority:
    """The operator's own certificate authority: the setting, and the PEM file it names, or ""."""

    setting: str
    file: str = ""

    def context(self) -> ssl.SSLContext:
        """Settings of a connection that trusts this authority beside those of the system.

        Raises:
            ConfigurationError: the file cannot be read, or holds no certificate.
        """
        context = ssl.create_default_context()
        if self.file:
            try:
                context.load_verify_locations(cafile=self.file)
            except (OSError, ssl.SSLError):
                raise ConfigurationError(
                    f"{self.setting} names no readable file with certificates in PEM"
                ) from None
        return context

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
                    f"{self.setting} names no readable file with certificates in PEM",
                    setting=self.setting,
                ) from None
        return context


def load_client_certificate(context: ssl.SSLContext, certificate_file: str, key_file: str) -> None:
    """Let connections with this context present a client certificate.

    Raises:
        ConfigurationError: a file cannot be read, or the key is not the certificate's.
    """
    try:
        # Without a password OpenSSL would ask for that of an encrypted key on the terminal.
        context.load_cert_chain(certificate_file, key_file, password="")
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        raise ConfigurationError("the client certificate or its key cannot be read") from None

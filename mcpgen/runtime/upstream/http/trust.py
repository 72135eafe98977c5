"""Certificate authorities that the client trusts, and its client certificates."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from mcpgen.runtime.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Authority:
    """The operator's certificate authority: the setting, and the PEM file it names or ""."""

    setting: str
    file: str = ""

    def make_context(self) -> ssl.SSLContext:
        """Create a TLS context that trusts this authority and those of the system.

        Raises:
            ConfigurationError: the file is unreadable or contains no certificate, or the file
                that SSLKEYLOGFILE names cannot be written.
        """
        try:
            context = ssl.create_default_context()
        except OSError:  # also of a file with certificates that OpenSSL's own variables name
            raise ConfigurationError(
                "SSLKEYLOGFILE must name a writable file", setting="SSLKEYLOGFILE"
            ) from None
        self.add_to(context)
        return context

    def add_to(self, context: ssl.SSLContext) -> None:
        """Add the authority to a TLS context.

        Raises:
            ConfigurationError: the file is unreadable or contains no certificate.
        """
        if self.file:
            try:
                context.load_verify_locations(cafile=self.file)
            except (OSError, ssl.SSLError):
                raise ConfigurationError(
                    f"{self.setting} must name a readable file with certificates in PEM",
                    setting=self.setting,
                ) from None


def load_client_certificate(context: ssl.SSLContext, certificate_file: str, key_file: str) -> None:
    """Add a client certificate to a TLS context.

    Raises:
        ConfigurationError: a file is unreadable, or the key does not match the certificate.
    """
    try:
        # With password=None, OpenSSL would prompt on the terminal for that of an encrypted key.
        context.load_cert_chain(certificate_file, key_file, password="")
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        raise ConfigurationError("the client certificate or its key cannot be read") from None

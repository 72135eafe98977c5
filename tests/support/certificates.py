"""Self-signed certificates for tests."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class KeyPair:
    """A self-signed certificate of this machine with its key (PEM)."""

    certificate: bytes
    key: bytes
    serial_number: int

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both files, under fixed names, into a folder."""
        certificate, key = folder / "tls.crt", folder / "tls.key"
        certificate.write_bytes(self.certificate)
        key.write_bytes(self.key)
        return certificate, key

    def client_context(self) -> ssl.SSLContext:
        """Return a client context that trusts only this certificate."""
        return ssl.create_default_context(cadata=self.certificate.decode())


def make_key_pair() -> KeyPair:
    """Make a certificate of localhost, 127.0.0.1 and ::1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    addresses = [x509.IPAddress(ip_address(it)) for it in ("127.0.0.1", "::1")]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), *addresses]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        certificate.serial_number,
    )


@cache
def shared_key_pair() -> KeyPair:
    """Return a key pair for all tests without special requirements."""
    return make_key_pair()

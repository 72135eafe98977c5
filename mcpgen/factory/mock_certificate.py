"""A client certificate for servers that are started with a mock of their API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


def find_mock_certificate_files() -> dict[str, str]:
    """Return the paths of a self-signed certificate and its key, by the part of the credential.

    The files are written once for each process, and removed when it ends. A server checks at its
    start that it can read them; a mock, which has no TLS, never sees them.
    """
    folder = Path(_make_folder().name)
    return {
        "certificate_file": str(folder / "client.pem"),
        "key_file": str(folder / "client.key"),
    }


@cache
def _make_folder() -> TemporaryDirectory[str]:
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="mcpgen-mock-")
    certificate, key = _make_certificate()
    (Path(folder.name) / "client.pem").write_bytes(certificate)
    (Path(folder.name) / "client.key").write_bytes(key)
    return folder


def _make_certificate() -> tuple[bytes, bytes]:
    """Return a certificate and its key (PEM)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mcpgen mock")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return certificate.public_bytes(pem), private

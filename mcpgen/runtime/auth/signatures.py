"""Signatures of JSON Web Tokens and their public keys: the only user of joserfc (mcpgen[auth])."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    PublicKey = RSAKey | ECKey | OKPKey

ALGORITHMS: Final = frozenset(
    {
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
        *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
    }
)
"""The accepted algorithms, all asymmetric; `none` and HMAC are never among them."""
MIN_RSA_BITS: Final = 2048
MAX_RSA_BITS: Final = 8192
_PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k", "x5c", "x5u"})


def decode_base64(text: str) -> bytes:
    """Decode base64url without padding (RFC 7515, section 2).

    Raises:
        ValueError: the text has an impossible length.
    """
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def import_key(entry: Any) -> PublicKey | None:
    """Import a JSON Web Key (RFC 7517) that verifies signatures; None for any other."""
    from joserfc.errors import JoseError
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    if not isinstance(entry, dict) or not _is_for_signatures(entry):
        return None
    public = {name: value for name, value in entry.items() if name not in _PRIVATE_MEMBERS}
    try:
        match entry.get("kty"):
            case "RSA":
                return RSAKey.import_key(public) if _has_usable_size(entry) else None
            case "EC":
                return ECKey.import_key(public)
            case "OKP":
                return OKPKey.import_key(public)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return None


def _is_for_signatures(entry: dict[str, Any]) -> bool:
    operations = entry.get("key_ops", ["verify"])
    is_allowed = isinstance(operations, list) and "verify" in operations
    return is_allowed and entry.get("use", "sig") == "sig"


def _has_usable_size(entry: dict[str, Any]) -> bool:
    modulus = entry["n"]
    if not isinstance(modulus, str) or len(modulus) > MAX_RSA_BITS // 4:
        return False
    bits = int.from_bytes(decode_base64(modulus), "big").bit_length()
    return MIN_RSA_BITS <= bits <= MAX_RSA_BITS


def fits(key: PublicKey, algorithm: str) -> bool:
    """Return whether a key is meant for an algorithm: its type, curve, `use` and `alg`."""
    from joserfc.errors import JoseError
    from joserfc.jws import JWSRegistry

    try:
        JWSRegistry.algorithms[algorithm].check_key(key)
    except JoseError:
        return False
    return True


def is_signed_with(key: PublicKey, algorithm: str, data: bytes, signature: bytes) -> bool:
    """Return whether a signature is valid; `algorithm` is one that the key fits."""
    from joserfc.errors import JoseError
    from joserfc.jws import JWSRegistry

    try:
        return JWSRegistry.algorithms[algorithm].verify(data, signature, key)
    except (JoseError, ValueError):
        return False

"""Hosts and origins of URLs (RFC 6454): their canonical form, and whether a host is private."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import unquote, urlsplit

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_MAX_HOST = 1024  # characters; the longest name of the DNS has 253, each escaped as `%xx`
_EMBEDS_LAST_32_BITS = (
    IPv6Network("::/96"),  # IPv4-compatible (RFC 4291, 2.5.5.1), deprecated
    IPv6Network("::ffff:0:0/96"),  # IPv4-mapped (RFC 4291, 2.5.5.2)
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated (RFC 2765)
    IPv6Network("64:ff9b::/96"),  # NAT64 (RFC 6052)
)
_NEVER_PUBLIC_V4 = (
    IPv4Network("168.63.129.16/32"),  # metadata of virtual machines, in a public range (Azure)
    IPv4Network("192.0.0.0/24"),  # IETF protocol assignments, and metadata (Oracle Cloud)
    IPv4Network("192.88.99.0/24"),  # relays of 6to4 (RFC 7526), deprecated
)
_NEVER_PUBLIC_V6 = (
    IPv6Network("64:ff9b:1::/48"),  # local-use NAT64 (RFC 8215)
    IPv6Network("fec0::/10"),  # site-local (RFC 3879), deprecated
    IPv6Network("5f00::/16"),  # segment routing (RFC 9602)
    IPv6Network("2001::/23"),  # IETF protocol assignments; for Teredo, the embedded one counts
    IPv6Network("3fff::/20"),  # documentation (RFC 9637)
)
_6TO4, _TEREDO = IPv6Network("2002::/16"), IPv6Network("2001::/32")


@lru_cache(maxsize=256)
def canonical_host(host: str) -> str:
    """Return the canonical form of a host: "127.1" and "0x7f000001" become "127.0.0.1".

    The result is in lower case, without a trailing dot. IPv6 addresses have no brackets and no
    zone. An invalid host is returned with as few changes as possible.
    """
    text = host[:_MAX_HOST].removeprefix("[").removesuffix("]")
    if "%" in text and ":" not in text:  # in an IPv6 address it begins the zone
        text = _decode_percent(text)
    if not text.isascii():
        import unicodedata  # few hosts need it

        # UTS 46: map compatibility characters, and the full stops of all scripts.
        text = unicodedata.normalize("NFKC", text).replace("\u3002", ".")
    text = text.lower().rstrip(".")
    if ":" in text:
        address = text.partition("%")[0]
        try:
            return str(IPv6Address(address))
        except ValueError:
            return text
    return _spell_dotted(text) or text


def is_unusual_spelling(host: str) -> bool:
    """Return whether a host is an IPv4 address that is not in dotted decimal: "0x7f000001"."""
    canonical = canonical_host(host)
    try:
        IPv4Address(canonical)  # in IPv6 addresses, upper case and zeros are common
    except ValueError:
        return False
    return host.removesuffix(".") != canonical


def is_private(host: str) -> bool:
    """Return whether a host is this machine or a non-public address, in any spelling.

    Names other than localhost are not resolved. A host that ends in a number and is not an address
    ("127.0.0.08") counts as private, since resolvers differ about it.
    """
    canonical = canonical_host(host)
    if not canonical or canonical == "localhost" or canonical.endswith(".localhost"):
        return True
    try:
        return not is_public_address(ip_address(canonical))
    except ValueError:
        return _NUMBER.fullmatch(canonical.rpartition(".")[2]) is not None


def is_public_address(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address can belong to a public service of the internet.

    IPv6 addresses that embed an IPv4 address are public if both are. Multicast, documentation,
    benchmarking, shared (100.64.0.0/10) and reserved ranges are not public.
    """
    if address.is_multicast or not _is_global(address):
        return False
    embedded = _list_embedded(address) if isinstance(address, IPv6Address) else ()
    return all(map(is_public_address, embedded))


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is global, independent of the tables of the Python version."""
    if isinstance(address, IPv4Address):
        is_special = address.is_reserved or any(address in it for it in _NEVER_PUBLIC_V4)
        return address.is_global and not is_special
    if any(address in network for network in _EMBEDS_LAST_32_BITS):
        return int(address) > 1  # neither :: nor ::1; the embedded address decides
    if address in _TEREDO or address in _6TO4:
        return True
    return address.is_global and not any(address in network for network in _NEVER_PUBLIC_V6)


def _list_embedded(address: IPv6Address) -> tuple[IPv4Address, ...]:
    number = int(address)
    if any(address in network for network in _EMBEDS_LAST_32_BITS):
        return (IPv4Address(number & 0xFFFFFFFF),)
    if address in _6TO4:
        return (IPv4Address(number >> 80 & 0xFFFFFFFF),)
    if address in _TEREDO:  # the server, and the client's address inverted (RFC 4380, section 4)
        return (IPv4Address(number >> 64 & 0xFFFFFFFF), IPv4Address(~number & 0xFFFFFFFF))
    return ()


def _decode_percent(text: str) -> str:
    for _ in range(8):
        decoded = unquote(text, errors="replace")
        if decoded == text:
            break
        text = decoded
    return text


def _spell_dotted(text: str) -> str:
    """Return an IPv4 address in dotted decimal; "" if `inet_aton` does not accept it.

    The input has one to four numbers, each decimal, octal ("0177") or hexadecimal ("0x7f"). The
    last number fills the remaining bytes.
    """
    parts = text.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return ""
    try:
        *first, last = map(_parse_number, parts)
    except ValueError:
        return ""
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        return ""
    number = sum(byte << 8 * (3 - index) for index, byte in enumerate(first)) + last
    return str(IPv4Address(number))


def _parse_number(text: str) -> int:
    if text[:2] in ("0x", "0X"):
        return int(text[2:] or "0", 16)
    if len(text) > 1 and text.startswith("0"):
        return int(text, 8)
    return int(text)


_DEFAULT_PORTS = {"http": 80, "https": 443}
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_ONE_LABEL = "[a-z0-9-]+"


@lru_cache(maxsize=256)
def origin_of(url: str) -> str:
    """Return the origin of an absolute URL (RFC 6454): "https://api.example.com:8443".

    The host is in its canonical form, and a default port is omitted. A URL without a host, or with
    an invalid port, has the origin "".
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if not parts.hostname:
        return ""
    scheme, host = parts.scheme.lower(), canonical_host(parts.hostname)
    bracketed = f"[{host}]" if ":" in host else host
    return f"{scheme}://{bracketed}" + (
        "" if port in (None, _DEFAULT_PORTS.get(scheme)) else f":{port}"
    )


def is_confirmed_origin(origin: str, confirmed: Iterable[str]) -> bool:
    """Return whether an origin is one of the confirmed origins.

    A `{placeholder}` in a confirmed origin matches a label of the host, or a part of one:
    "https://{region}.example.com".
    """
    return bool(origin) and any(_matches(origin, each) for each in confirmed)


def _matches(origin: str, confirmed: str) -> bool:
    if "{" not in confirmed:
        return origin == origin_of(confirmed)
    pieces = _PLACEHOLDER.split(confirmed.rstrip("/").lower())
    return re.fullmatch(_ONE_LABEL.join(map(re.escape, pieces)), origin) is not None

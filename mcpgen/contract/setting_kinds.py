"""Kinds of settings: how the text of an environment variable becomes a value."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

_UNITS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_RATE: Final = re.compile(r"([1-9][0-9]{0,8})/(second|minute|hour|day)\Z")
_SWITCH: Final = {"0": False, "1": True, "false": False, "true": True}
_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Rate(NamedTuple):
    """A rate limit: `calls` in each period of `seconds`."""

    calls: int
    seconds: int


class ServerSetting(NamedTuple):
    """A setting of the runtime: it does not depend on the API of a server."""

    name: str
    """Without the server's prefix: `TIMEOUT_SECONDS`."""
    group: str
    """A key of `server_settings.GROUPS`."""
    kind: str
    """A key of `_PARSERS`: how the text becomes a value."""
    description: str
    """A sentence or two for the operator."""
    default: str = ""
    """In the form in which the operator would write it; "" if there is none."""
    minimum: float = 0
    maximum: float = math.inf
    choices: tuple[str, ...] = ()
    secret: bool = False
    """The value must never be shown, and may be in the file that `<NAME>_FILE` names."""
    option: str = ""
    """The command-line option with the same meaning, which wins: `--toolset`."""
    over_http: bool = False
    """Whether it only applies over HTTP."""
    limit: str = ""
    """The name of its limit (`contract.limits`): the key in `limits` of mcpgen.yaml."""
    applies_to: str = ""
    """The servers that have it: "" for all, "requests" for those that send requests to an API,
    "contract" for those whose contract lists it."""
    in_contract: str = ""
    """The feature of a server whose contract lists the setting: "requests", "document_urls",
    "files", "search", "questions", "handles", "exchange" or "user"; "" if no contract lists
    it."""
    for_users: bool = False
    """Whether it concerns users who install the server in a client, over stdio (`server.json`)."""

    def parse(self, text: str) -> object:
        """Return the value that a text has; `text` is not empty.

        Raises:
            ValueError: the text is invalid. The message completes "expected …" and does not
                contain the text.
        """
        return _PARSERS[self.kind](self, text.strip())


def _parse_number(setting: ServerSetting, text: str) -> float:
    try:
        number = math.nan if "_" in text else float(text)
    except ValueError:
        number = math.nan
    if not setting.minimum <= number <= setting.maximum or math.isinf(number):
        raise ValueError(f"expected {_describe_range(setting, 'a number')}")
    return number


def _parse_integer(setting: ServerSetting, text: str) -> int:
    is_integer = text.isascii() and text.isdecimal() and len(text) <= 15
    if not is_integer or not setting.minimum <= int(text) <= setting.maximum:
        raise ValueError(f"expected {_describe_range(setting, 'an integer')}")
    return int(text)


def _describe_range(setting: ServerSetting, noun: str) -> str:
    if math.isinf(setting.maximum):
        return f"{noun} of at least {setting.minimum:g}"
    return f"{noun} from {setting.minimum:.15g} to {setting.maximum:.15g}"


def _parse_switch(_: ServerSetting, text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise ValueError("expected 0, 1, false or true")
    return _SWITCH[text.lower()]


def _parse_choice(setting: ServerSetting, text: str) -> str:
    if text not in setting.choices:
        raise ValueError(f"expected one of {', '.join(setting.choices)}")
    return text


def _parse_rate(_: ServerSetting, text: str) -> Rate:
    match = _RATE.match(text)
    if match is None:
        raise ValueError("expected a number of calls per second, minute, hour or day: 60/minute")
    return Rate(int(match[1]), _UNITS[match[2]])


def _parse_text(_: ServerSetting, text: str) -> str:
    if not text.isprintable():
        raise ValueError("expected printable characters")
    return text


def _parse_list(setting: ServerSetting, text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in _parse_text(setting, text).split(","))))


def _parse_scopes(_: ServerSetting, text: str) -> tuple[str, ...]:
    scopes = tuple(text.replace(",", " ").split())
    # RFC 6749, section 3.3
    if not all(re.fullmatch(r"[\x21\x23-\x5b\x5d-\x7e]+", scope) for scope in scopes):
        raise ValueError("expected scopes, separated by spaces")
    return scopes


def _parse_https_url(_: ServerSetting, text: str) -> str:
    """Accept https, and http on this machine; without credentials and fragment."""
    from urllib.parse import urlsplit  # only servers with such a setting need it

    try:
        parts = urlsplit(text)
        is_local = parts.hostname in _LOCAL_HOSTS
        is_valid = bool(parts.hostname) and parts.port != 0 and not parts.username
    except ValueError:
        is_valid = is_local = False
        parts = urlsplit("")
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and is_local)
    has_only_visible = text.isascii() and text.isprintable() and " " not in text
    if not (is_valid and is_secure and has_only_visible) or "#" in text:
        raise ValueError("expected an https URL without user name and fragment")
    return text


def _parse_https_urls(setting: ServerSetting, text: str) -> tuple[str, ...]:
    return tuple(_parse_https_url(setting, url) for url in _parse_list(setting, text))


def _parse_proxy(_: ServerSetting, text: str) -> str:
    """Accept `host:port`, too, as most programs do."""
    from urllib.parse import urlsplit  # only servers with such a setting need it

    if "://" not in text:
        text = f"http://{text}"
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    has_only_visible = text.isascii() and text.isprintable() and " " not in text
    if not is_valid or not has_only_visible or parts.path.strip("/") or "?" in text or "#" in text:
        raise ValueError("expected the URL of a proxy: http://proxy.example:3128")
    return text


def _parse_state_url(_: ServerSetting, text: str) -> str:
    scheme = text.partition(":")[0]
    if text == "memory:" or (scheme in {"redis", "rediss", "valkey", "valkeys"} and "://" in text):
        return text
    if scheme == "sqlite" and text.startswith("sqlite:///") and len(text) > len("sqlite:///"):
        return text
    raise ValueError("expected memory:, sqlite:///PATH, redis://HOST:PORT or valkey://HOST:PORT")


_PARSERS: Final = {
    "choice": _parse_choice,
    "https_url": _parse_https_url,
    "https_urls": _parse_https_urls,
    "integer": _parse_integer,
    "list": _parse_list,
    "number": _parse_number,
    "proxy": _parse_proxy,
    "rate": _parse_rate,
    "scopes": _parse_scopes,
    "state_url": _parse_state_url,
    "switch": _parse_switch,
    "text": _parse_text,
}

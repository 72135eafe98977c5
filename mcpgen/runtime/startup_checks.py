"""Check the settings of a server, at start-up and for `--check-env`.

Only what is set is checked here. What is missing concerns the calls that need it, and is the
subject of `mcpgen.runtime.needs`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from mcpgen.runtime.auth.values import read_value
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.base_url import BaseUrls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.content import JsonObject


def invalid_settings(contract: JsonObject, environ: Mapping[str, str]) -> list[ConfigurationError]:
    """Check every setting that is set; return an error for each one that cannot be used.

    No error contains a value.
    """
    found: dict[str, ConfigurationError] = {}
    for check in _checks(contract, environ):
        try:
            check()
        except ConfigurationError as error:
            found.setdefault(error.setting, error)
    return list(found.values())


def _checks(contract: JsonObject, environ: Mapping[str, str]) -> Iterator[Callable[[], object]]:
    prefix = contract.get("env_prefix", "")
    for source in ("", *contract.get("sources", ())):
        yield partial(_check_address, contract, environ, source)
    for setting in contract.get("environment", ()):
        if setting.get("choices"):
            yield partial(_check_choice, setting, environ)
        if "schema" in setting and environ.get(setting["name"]):
            yield partial(_check_schema, setting, environ)
    for about in (contract, *contract.get("sources", {}).values()):
        yield partial(_check_headers, contract, about.get("headers", {}), environ)
    yield from _checks_of_credentials(contract, environ)
    yield partial(_check_authority, f"{prefix}CA_FILE", environ)
    yield partial(_check_folders, f"{prefix}FILE_ROOTS", environ)
    yield partial(_check_state_keys, f"{prefix}STATE_KEYS", environ)


def _check_address(contract: JsonObject, environ: Mapping[str, str], source: str) -> None:
    if "env_prefix" in contract:
        BaseUrls(contract, environ, source=source).check_variables()


def _check_choice(setting: JsonObject, environ: Mapping[str, str]) -> None:
    name, choices = setting["name"], setting["choices"]
    value = environ.get(name, "").strip()
    if value and value not in choices:
        raise ConfigurationError(f"{name} must be one of {', '.join(choices)}", setting=name)


def _check_schema(setting: JsonObject, environ: Mapping[str, str]) -> None:
    from mcpgen.runtime.settings import read_setting  # for servers that have such settings

    read_setting(setting, environ)


def _check_headers(contract: JsonObject, headers: JsonObject, environ: Mapping[str, str]) -> None:
    names = {header["setting"] for header in headers.values() if isinstance(header, dict)}
    if names.isdisjoint(environ):
        return
    from mcpgen.runtime.settings import Settings
    from mcpgen.runtime.upstream.default_headers import DefaultHeaders

    entries = [entry for entry in contract.get("environment", ()) if entry["name"] in names]
    DefaultHeaders(headers, Settings({"environment": entries}, environ))


def _checks_of_credentials(
    contract: JsonObject, environ: Mapping[str, str]
) -> Iterator[Callable[[], object]]:
    certificates: dict[str, dict[str, str]] = {}
    for setting in contract.get("environment", ()):
        name, scheme, part = setting["name"], setting.get("scheme"), setting.get("part", "value")
        if not scheme:
            continue
        yield partial(read_value, contract["security_schemes"][scheme], part, name, environ)
        if part in ("certificate_file", "key_file"):
            certificates.setdefault(scheme, {})[part] = name
    for names in certificates.values():
        if len(names) == 2 and all(environ.get(name, "").strip() for name in names.values()):
            yield partial(_check_certificate, names, environ)


def _check_certificate(names: Mapping[str, str], environ: Mapping[str, str]) -> None:
    import ssl  # for the few servers that have such a setting

    from mcpgen.runtime.upstream.trust import load_client_certificate

    certificate, key = names["certificate_file"], names["key_file"]
    try:
        load_client_certificate(
            ssl.create_default_context(), environ[certificate].strip(), environ[key].strip()
        )
    except ConfigurationError:
        raise ConfigurationError(
            f"{certificate} and {key} must name readable files in PEM: a certificate and its key"
            " without a passphrase",
            setting=certificate,
        ) from None


def _check_authority(name: str, environ: Mapping[str, str]) -> None:
    file = environ.get(name, "").strip()
    if file:
        from mcpgen.runtime.upstream.trust import Authority

        Authority(name, file).context()


def _check_folders(name: str, environ: Mapping[str, str]) -> None:
    folders = filter(None, environ.get(name, "").split(os.pathsep))
    if not all(map(os.path.isdir, folders)):  # importing pathlib costs 9 ms
        raise ConfigurationError(
            f"{name} must name existing folders, separated by `{os.pathsep}`", setting=name
        )


def _check_state_keys(name: str, environ: Mapping[str, str]) -> None:
    if environ.get(name, "").strip():
        from mcpgen.runtime.sealing import KeyRingSealer

        KeyRingSealer.from_environment(name, environ)

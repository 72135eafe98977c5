"""Validation of the settings that are set, at start-up and for `--check-env`.

Missing settings matter only to the calls that need them; see `mcpgen.contract.needs`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from mcpgen.contract.base_url import BaseUrls
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.values import read_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.content import JsonObject


def find_invalid_settings(
    contract: JsonObject, environ: Mapping[str, str]
) -> list[ConfigurationError]:
    """Check every setting that is set; return an error, without the value, for each invalid one."""
    found: dict[str, ConfigurationError] = {}
    for check in _list_checks(contract, environ):
        try:
            check()
        except ConfigurationError as error:
            found.setdefault(error.setting, error)
    return list(found.values())


def _list_checks(
    contract: JsonObject, environ: Mapping[str, str]
) -> Iterator[Callable[[], object]]:
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
    yield from _list_credential_checks(contract, environ)
    yield partial(_check_authority, f"{prefix}CA_FILE", environ)
    yield partial(_check_folders, f"{prefix}FILE_ROOTS", environ)
    yield partial(_check_state_keys, f"{prefix}STATE_KEYS", environ)
    yield partial(_check_state_url, prefix, environ)
    yield partial(_check_search_model, contract, environ)
    yield from _list_server_checks(contract, environ)


def _check_address(contract: JsonObject, environ: Mapping[str, str], source: str) -> None:
    if "env_prefix" in contract:
        BaseUrls(contract, environ, source=source).check_variables()


def _check_choice(setting: JsonObject, environ: Mapping[str, str]) -> None:
    name, choices = setting["name"], setting["choices"]
    value = environ.get(name, "").strip()
    if value and value not in choices:
        raise ConfigurationError(f"{name} must be one of {', '.join(choices)}", setting=name)


def _check_schema(setting: JsonObject, environ: Mapping[str, str]) -> None:
    from mcpgen.runtime.startup.settings import read_setting  # for servers that have such settings

    read_setting(setting, environ)


def _check_headers(contract: JsonObject, headers: JsonObject, environ: Mapping[str, str]) -> None:
    names = {header["setting"] for header in headers.values() if isinstance(header, dict)}
    if names.isdisjoint(environ):
        return
    from mcpgen.runtime.startup.settings import Settings
    from mcpgen.runtime.upstream.request.default_headers import DefaultHeaders

    entries = [entry for entry in contract.get("environment", ()) if entry["name"] in names]
    DefaultHeaders(headers, Settings({"environment": entries}, environ))


def _list_credential_checks(
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
    import ssl  # few servers have such a setting

    from mcpgen.runtime.upstream.http.connecting import load_client_certificate

    certificate, key = names["certificate_file"], names["key_file"]
    try:
        load_client_certificate(
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            environ[certificate].strip(),
            environ[key].strip(),
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
        import ssl

        from mcpgen.runtime.upstream.http.connecting import Authority

        # `ssl.create_default_context` would also fail because of other settings.
        Authority(name, file).add_to(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


def _check_folders(name: str, environ: Mapping[str, str]) -> None:
    folders = filter(None, environ.get(name, "").split(os.pathsep))
    if not all(map(os.path.isdir, folders)):  # importing pathlib costs 9 ms
        raise ConfigurationError(
            f"{name} must name existing folders, separated by `{os.pathsep}`", setting=name
        )


def _check_state_keys(name: str, environ: Mapping[str, str]) -> None:
    if environ.get(name, "").strip():
        from mcpgen.runtime.state.request_state import KeyRingCipher

        KeyRingCipher.from_environment(name, environ)


def _check_state_url(prefix: str, environ: Mapping[str, str]) -> None:
    if environ.get(f"{prefix}STATE_URL", "").strip():
        from mcpgen.runtime.state.open_store import check_state_url

        check_state_url(prefix, environ)


def _check_search_model(contract: JsonObject, environ: Mapping[str, str]) -> None:
    from mcpgen.runtime.startup.search_model import check_model, find_model

    if folder := find_model(contract, environ):
        check_model(contract, folder)


def _list_server_checks(
    contract: JsonObject, environ: Mapping[str, str]
) -> Iterator[Callable[[], object]]:
    """Yield a check for each setting of the runtime, if a variable may be one."""
    if not has_other_variables(contract, environ):
        return
    from mcpgen.contract.server_settings import SERVER_SETTINGS
    from mcpgen.runtime.startup.server_settings import ServerSettings

    settings = ServerSettings.from_contract(contract, environ)
    for setting in SERVER_SETTINGS:
        yield partial(settings.get, setting.name)


def has_other_variables(contract: JsonObject, environ: Mapping[str, str]) -> bool:
    """Return whether the environment has variables with the server's prefix that are not in its
    contract: settings of the runtime, or misspelt ones. Otherwise their table is not imported."""
    prefix = contract.get("env_prefix", "")
    if not prefix:
        return False
    declared = {setting["name"] for setting in contract.get("environment", ())}
    return any(name.startswith(prefix) and name not in declared for name in environ)

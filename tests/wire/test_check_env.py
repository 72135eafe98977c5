"""Tests of `--check-env`: missing and invalid settings, and the tools that need them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.serving import serve as run_server
from mcpgen.runtime.startup import check_env
from mcpgen.runtime.startup.check_env import EnvironmentReport, check_environment
from mcpgen.runtime.upstream.client import ApiClient
from tests.wire.served import Served, serve

HEAD = """
openapi: 3.1.1
info: {title: Shop, version: "1"}
servers:
  - {url: "https://{region}.shop.example", variables: {region: {default: eu, enum: [eu, us]}}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    token: {type: http, scheme: bearer}
    till: {type: http, scheme: basic}
    mutual: {type: mutualTLS}
    session: {type: apiKey, in: cookie, name: sid}
    login:
      type: oauth2
      flows: {clientCredentials: {tokenUrl: https://login.shop.example/token, scopes: {}}}
paths:
"""
NUMBERS = itertools.count(1)
SECRET = "hunter2-hunter2"

Make = Callable[..., Served]


def operation(path: str, security: str = "", method: str = "get") -> str:
    entry = f"security: {security}, " if security else ""
    name = path.strip("/").replace("/", "_")
    return (
        f"  {path}: {{{method}: {{operationId: {name}_{method}, {entry}"
        'responses: {"204": {description: Done}}}}\n'
    )


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes and imports the server of operations."""

    def made(*operations: str, head: str = HEAD) -> Served:
        folder = tmp_path / f"package-{next(NUMBERS)}"
        folder.mkdir()
        document = folder / "openapi.yaml"
        document.write_text(head + "".join(operations), encoding="utf-8")
        return serve(document, f"shop-{next(NUMBERS)}", folder, "https://login.shop.example")

    return made


def report_of(served: Served, **settings: str) -> EnvironmentReport:
    prefix = served.plan.env_prefix
    return check_environment(
        served.package, {f"{prefix}{name}": value for name, value in settings.items()}
    )


def states(served: Served, report: EnvironmentReport) -> Mapping[str, str]:
    prefix = served.plan.env_prefix
    return {setting.name.removeprefix(prefix): setting.state for setting in report.settings}


def uses(served: Served) -> Mapping[str, str]:
    prefix = served.plan.env_prefix
    settings = report_of(served).settings
    return {it.name.removeprefix(prefix): it.usage.describe_counts() for it in settings}


def test_each_setting_shows_how_many_tools_need_it(make: Make) -> None:
    served = make(
        operation("/a", "[{key: []}]"),
        operation("/b", "[{key: []}]"),
        operation("/c", "[{key: [], token: []}]"),
        operation("/d", "[{token: []}, {}]"),
        operation("/e"),
    )

    assert uses(served) == {
        "BASE_URL": "optional",
        "SERVER_REGION": "optional",
        "KEY": "needed by 3 of 5 tools",
        "TOKEN": "needed by 1 of 5 tools",
        "ALLOW_PRIVATE": "optional",
        "CA_FILE": "optional",
    }


def test_check_env_fails_only_if_most_tools_cannot_be_called(make: Make) -> None:
    most = make(operation("/a", "[{key: []}]"), operation("/b", "[{key: []}]"), operation("/c"))
    few = make(operation("/a", "[{key: []}]"), operation("/b"), operation("/c"))

    for served, code in ((most, 1), (few, 0)):
        missing, complete = report_of(served), report_of(served, KEY="k")
        assert (missing.exit_code, states(served, missing)["KEY"]) == (code, "missing")
        assert (complete.exit_code, states(served, complete)["KEY"]) == (0, "set")


OAUTH = ("LOGIN_CLIENT_ID", "LOGIN_CLIENT_SECRET", "LOGIN_REFRESH_TOKEN", "LOGIN_ACCESS_TOKEN")


@pytest.mark.parametrize(
    ("settings", "expected", "code"),
    [
        ({}, ("missing", "missing", "missing", "missing"), 1),
        (
            {"LOGIN_ACCESS_TOKEN": "t"},
            ("not needed", "not needed", "not needed", "set"),
            0,
        ),
        ({"LOGIN_CLIENT_ID": "i"}, ("set", "missing", "missing", "missing"), 1),
        (
            {"LOGIN_CLIENT_ID": "i", "LOGIN_CLIENT_SECRET": "s"},
            ("set", "set", "not needed", "not needed"),
            0,
        ),
    ],
    ids=["nothing", "an access token", "half of a client", "a client"],
)
def test_an_access_token_replaces_the_client_credentials(
    make: Make, settings: dict[str, str], expected: tuple[str, ...], code: int
) -> None:
    served = make(operation("/a", "[{login: []}]"))

    report = report_of(served, **settings)

    found = states(served, report)
    assert tuple(found[name] for name in OAUTH) == expected
    assert report.exit_code == code


def test_unmet_settings_are_reported_with_all_alternatives(make: Make) -> None:
    served = make(operation("/a", "[{login: []}, {key: []}]"))
    prefix = served.plan.env_prefix

    text = "\n".join(report_of(served, LOGIN_CLIENT_ID="i").to_lines())

    assert text.endswith(
        "1 of 1 tool cannot be called until one of these is set:\n"
        f"  {prefix}LOGIN_CLIENT_SECRET\n"
        f"  {prefix}LOGIN_ACCESS_TOKEN\n"
        f"  {prefix}LOGIN_REFRESH_TOKEN\n"
        f"  {prefix}KEY"
    )


def served_at(make: Make, servers: str) -> Served:
    lines = HEAD.splitlines(keepends=True)
    head = "".join(line for line in lines if "servers:" not in line and "{region}" not in line)
    return make(operation("/a"), operation("/b"), head=f"\nservers: {servers}{head}")


@pytest.mark.parametrize("address", ["http://localhost:8080", "http://0x7f.1", "http://[::1]:80"])
def test_a_private_base_url_needs_one_of_two_confirmations(make: Make, address: str) -> None:
    served = served_at(make, f"[{{url: '{address}'}}]")

    found = uses(served)
    assert found["BASE_URL"] == found["ALLOW_PRIVATE"] == "alternative for 2 of 2 tools"
    assert report_of(served).exit_code == 1
    assert report_of(served, ALLOW_PRIVATE="0").exit_code == 1
    assert report_of(served, ALLOW_PRIVATE="yes").exit_code == 1
    assert report_of(served, ALLOW_PRIVATE="true").exit_code == 0
    assert report_of(served, BASE_URL="http://localhost:1").exit_code == 0


@pytest.mark.parametrize("servers", ["[]", "[{url: /relative}]"], ids=["none", "without a host"])
def test_a_base_url_that_the_document_lacks_is_needed_by_every_tool(
    make: Make, servers: str
) -> None:
    served = served_at(make, servers)

    assert uses(served)["BASE_URL"] == "needed by 2 of 2 tools"
    assert report_of(served).exit_code == 1
    assert report_of(served, BASE_URL="http://localhost:1").exit_code == 0


def test_the_report_agrees_with_the_client_that_sends(make: Make) -> None:
    schemes = (
        "[{till: []}]",
        "[{login: []}]",
        "[{key: [], till: []}, {token: []}]",
        "[{key: []}, {}]",
    )
    served = make(*(operation(f"/{number}", text) for number, text in enumerate(schemes)))
    secret = [setting.name for setting in served.plan.environment if setting.scheme]
    tools = served.package.read_tool_contracts()

    for chosen in itertools.product((False, True), repeat=len(secret)):
        environ = {name: "x" for name, is_chosen in zip(secret, chosen, strict=True) if is_chosen}
        client = ApiClient(served.package.contract, environ)
        refused = set()
        for name, tool in tools.items():
            try:
                client.credentials.choose(name, tool["request"].get("security", ()))
            except ToolError:
                refused.add(name)
        report = check_environment(served.package, environ)
        assert {tool for need in report.unmet for tool in need.tools} == refused, environ


INVALID = {
    "no URL": ("BASE_URL", "notaurl"),
    "no such port": ("BASE_URL", "https://shop.example:99999"),
    "a user in the URL": ("BASE_URL", f"https://me:{SECRET}@shop.example"),
    "half an address": ("BASE_URL", "http://[::1"),
    "no choice": ("SERVER_REGION", "moon"),
    "a line break": ("TOKEN", f"{SECRET}\nx"),
    "a space in a token": ("LOGIN_ACCESS_TOKEN", f"{SECRET} x"),
    "a semicolon in a cookie": ("SESSION", f"{SECRET};x"),
    "a colon in a user name": ("TILL_USERNAME", "a:b"),
    "no authority": ("CA_FILE", "/nowhere/ca.pem"),
    "no folder": ("FILE_ROOTS", "/nowhere"),
    "a short key": ("STATE_KEYS", SECRET),
}


@pytest.mark.parametrize(("setting", "value"), INVALID.values(), ids=list(INVALID))
def test_a_server_does_not_start_with_settings_that_check_env_rejects(
    make: Make,
    setting: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    schemes = ("key", "token", "till", "session", "login")
    served = make(*(operation(f"/{scheme}", f"[{{{scheme}: []}}]") for scheme in schemes))
    contract = served.folder / "src" / served.plan.package / "_generated/contract.json"
    described = json.loads(contract.read_text())
    for name in ("FILE_ROOTS", "STATE_KEYS"):
        described["environment"].append({"name": f"{served.plan.env_prefix}{name}"})
    contract.write_text(json.dumps(described))
    monkeypatch.setenv(f"{served.plan.env_prefix}{setting}", value)

    assert run_server(served.plan.package, []) == 2
    started = capfd.readouterr()
    assert run_server(served.plan.package, ["--check-env"]) == 1
    checked = capfd.readouterr()

    assert started.err.startswith("error: ")
    assert f"{served.plan.env_prefix}{setting} " in started.err
    assert started.err == "".join(
        f"{line}\n" for line in checked.out.splitlines() if line.startswith("error: ")
    )
    rows = [line.split() for line in checked.out.splitlines() if line]
    assert [f"{served.plan.env_prefix}{setting}", "invalid"] in [row[:2] for row in rows]
    assert SECRET not in started.err + checked.out + checked.err


def test_a_client_certificate_must_be_readable(make: Make, tmp_path: Path) -> None:
    served = make(operation("/a", "[{mutual: []}]"))
    (tmp_path / "empty.pem").write_text("")

    report = report_of(
        served,
        MUTUAL_CERTIFICATE_FILE=str(tmp_path / "empty.pem"),
        MUTUAL_KEY_FILE=str(tmp_path / "missing.pem"),
    )

    assert states(served, report)["MUTUAL_CERTIFICATE_FILE"] == "invalid"
    assert report.exit_code == 1


def test_no_value_is_printed(
    make: Make, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    served = make(operation("/a", "[{key: []}]"), operation("/b", "[{login: []}]"))
    for setting in served.plan.environment:
        monkeypatch.setenv(setting.name, SECRET)

    for arguments, code in ((["--check-env"], 1), (["--check-env", "--json"], 1), ([], 2)):
        assert run_server(served.plan.package, arguments) == code
    captured = capfd.readouterr()

    assert SECRET not in captured.out + captured.err


def test_the_report_is_available_as_json(
    make: Make, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    served = make(operation("/a", "[{key: []}]"))
    key = f"{served.plan.env_prefix}KEY"

    assert run_server(served.plan.package, ["--check-env", "--json"]) == 1

    report = json.loads(capfd.readouterr().out)
    assert (report["tools"], report["blocked_tools"], report["exit_code"]) == (1, 1, 1)
    (setting,) = (it for it in report["settings"] if it["name"] == key)
    assert (setting["state"], setting["needed_by"]) == ("missing", 1)
    assert report["unmet"] == [{"tools": ["a_get"], "set_one_of": [[key]]}]


def test_an_extra_that_tools_need_must_be_installed(
    make: Make, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    served = make(operation("/a"))
    contract = served.folder / "src" / served.plan.package / "_generated/contract.json"
    described = {**json.loads(contract.read_text()), "extras": {"seal": ["a_get", "b_get"]}}
    contract.write_text(json.dumps(described))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    message = (
        "error: mcpgen[seal] is not installed, which 2 tools need (a_get, b_get): "
        "run `pip install 'mcpgen[seal]'`\n"
    )

    assert run_server(served.plan.package, []) == 1
    assert capfd.readouterr().err == message
    assert run_server(served.plan.package, ["--check-env"]) == 1
    assert message in capfd.readouterr().out


def test_handlers_that_ask_clients_need_the_extra(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = make(operation("/a"))
    handlers = served.folder / "src" / served.plan.package / "handlers"
    handlers.mkdir()
    (handlers / "ask.py").write_text("async def ask(ctx):\n    await ctx.elicit('?', {})\n")

    assert report_of(served).exit_code == 0
    monkeypatch.setattr(check_env, "is_installed", lambda _: False)
    report = report_of(served)

    assert report.exit_code == 1
    assert "handlers/ask.py asks clients for input" in report.problems[0]


@pytest.mark.parametrize("option", ["--live", "--json"])
def test_report_options_without_check_env_are_rejected(make: Make, option: str) -> None:
    served = make(operation("/a"))
    with pytest.raises(SystemExit) as refused:
        run_server(served.plan.package, [option])
    assert refused.value.code == 2


def test_settings_of_the_runtime_are_shown_if_they_are_set(make: Make, tmp_path: Path) -> None:
    served = make(operation("/a", "[{key: []}]"))
    secret = tmp_path / "key"
    secret.write_text("canary\n")
    report = report_of(
        served,
        KEY_FILE=str(secret),
        MAX_ATTEMPTS="2",
        MAX_QUEUED="many",
        TIMEOUT_SECOND="5",
        STATE_KEYS="short",
    )
    found = states(served, report)
    assert found["KEY"] == "set (file)"
    assert (found["MAX_ATTEMPTS"], found["MAX_QUEUED"]) == ("set", "invalid")
    assert "MAX_CONCURRENT" not in found
    text = "\n".join(report.to_lines())
    assert "canary" not in text
    assert "many" not in text
    assert "All other settings have their defaults" in text
    assert f"did you mean {served.plan.env_prefix}TIMEOUT_SECONDS?" in text
    assert report.exit_code == 1


def test_a_secret_in_a_missing_file_is_invalid(make: Make, tmp_path: Path) -> None:
    served = make(operation("/a", "[{key: []}]"))
    report = report_of(served, KEY_FILE=str(tmp_path / "canary"))
    assert states(served, report)["KEY"] == "invalid"
    assert "canary" not in "\n".join(report.to_lines())
    assert report.exit_code == 1


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "http_proxy"])
def test_an_invalid_common_proxy_is_reported(make: Make, variable: str) -> None:
    served = make(operation("/a"))
    report = check_environment(served.package, {variable: "socks5://canary"})
    assert report.problems == (
        f"invalid {variable}: expected the URL of a proxy: http://proxy.example:3128",
    )

"""Tests that deployment files are valid for their tools and consistent with the server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import kubernetes_validate
import pytest
import yaml

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.contract.server_settings import BY_NAME
from tests.support.deployment import find_program, render, write
from tests.support.http_requests import ask
from tests.support.paths import REPOSITORY
from tests.support.running_process import serving
from tests.support.stdio_process import write_package

KUBERNETES_VERSIONS = ("1.30", "1.33", "1.37")
SERVED = r"served at http://[0-9.]+:(\d+)"


def manifests() -> dict[str, Any]:
    """Return the manifests of Kubernetes by kind."""
    documents = list(yaml.safe_load_all(render()["deploy/kubernetes.yaml"]))
    assert len({document["kind"] for document in documents}) == len(documents)
    return {document["kind"]: document for document in documents}


def server_arguments() -> dict[str, list[str]]:
    """Return the arguments with which each kind of deployment starts the server."""
    compose = yaml.safe_load(render()["deploy/compose.yaml"])
    (container,) = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    line = re.search(r"^ExecStart=\S+ (.*)$", render()["deploy/small-mcp.service"], re.MULTILINE)
    assert line
    return {
        "compose": compose["services"]["server"]["command"],
        "kubernetes": container["args"],
        "systemd": line[1].split(),
    }


@pytest.mark.parametrize(
    ("deployment", "names"),
    [
        ("no", set()),
        ("compose", {"compose.yaml", "otel-collector.yaml"}),
        ("kubernetes", {"kubernetes.yaml"}),
        ("systemd", {"Caddyfile", "nginx.conf", "small-mcp.service"}),
        (
            "all",
            {"Caddyfile", "compose.yaml", "kubernetes.yaml", "nginx.conf", "otel-collector.yaml",
             "small-mcp.service"},
        ),
    ],
)  # fmt: skip
def test_the_answer_selects_the_files(deployment: str, names: set[str]) -> None:
    files = render(deployment)
    assert {path for path in files if path.startswith("deploy/")} == {
        f"deploy/{it}" for it in names
    }
    has_answer = 'deployment: "' in files[".copier-answers.yml"]
    assert has_answer is (deployment != "no")
    assert ("deploy/" in files["README.md"]) is (deployment != "no")
    needs_extras = deployment in {"compose", "kubernetes", "all"}
    assert ('"mcpgen[auth,otel,redis]>=' in files["pyproject.toml"]) is needs_extras


def test_the_compose_file_is_valid() -> None:
    folder = files("check_jsonschema.builtin_schemas.vendor")
    schema = json.loads((folder / "compose-spec.json").read_text())
    validator = jsonschema_rs.validator_for(schema)
    compose = yaml.safe_load(render()["deploy/compose.yaml"])
    assert [error.message for error in validator.iter_errors(compose)] == []
    assert not validator.is_valid({"services": {"server": {"imagee": "x"}}})


def test_services_of_the_compose_file_are_confined() -> None:
    compose = yaml.safe_load(render()["deploy/compose.yaml"])
    for service in compose["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert set(service["networks"]) <= compose["networks"].keys()
    published = {name: it["ports"] for name, it in compose["services"].items() if "ports" in it}
    assert published == {"server": ["127.0.0.1:8000:8000"]}
    grace = compose["services"]["server"]["stop_grace_period"]
    arguments = server_arguments()["compose"]
    assert int(grace.removesuffix("s")) > int(arguments[arguments.index("--drain-timeout") + 1])
    assert "deploy/secrets/" in render()[".gitignore"].splitlines()


def test_the_pipelines_of_the_collector_use_what_it_defines() -> None:
    collector = yaml.safe_load(render()["deploy/otel-collector.yaml"])
    for pipeline in collector["service"]["pipelines"].values():
        for kind, names in pipeline.items():
            assert set(names) <= collector[kind].keys()


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_the_manifests_are_valid(version: str) -> None:
    for manifest in manifests().values():
        assert kubernetes_validate.validate(manifest, version, strict=True)
    broken = {**manifests()["Service"], "specc": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, version, strict=True)


def test_the_pods_are_confined_and_drained() -> None:
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    arguments = container["args"]
    delay, drain = (
        int(arguments[arguments.index(name) + 1])
        for name in ("--pre-stop-delay", "--drain-timeout")
    )
    probe = container["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] + probe["timeoutSeconds"] < delay
    assert pod["terminationGracePeriodSeconds"] >= delay + drain + 5
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert f"USER {pod['securityContext']['runAsUser']}" in render()["Dockerfile"].splitlines()


def test_the_manifests_select_the_pods() -> None:
    found = manifests()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == found["Deployment"]["metadata"]["name"]


def test_the_unit_is_valid_and_confined(tmp_path: Path) -> None:
    analyze = find_program("systemd-analyze")
    program = "/opt/small-mcp/bin/small-mcp"
    unit = write(
        tmp_path, "deploy/small-mcp.service", {f"ExecStart={program} ": "ExecStart=/bin/true "}
    )
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(
        [analyze, "security", "--offline=yes", "--no-pager", "--threshold=16", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    # The exposure in tenths: 1.4 is "OK", and below 2 for a service that must reach the network.
    assert done.returncode == 0, done.stdout
    assert re.search(r"Overall exposure level for small-mcp\.service: 1\.\d OK", done.stdout)


@pytest.mark.parametrize("kind", ["compose", "kubernetes", "systemd"])
def test_the_server_accepts_its_arguments(kind: str, tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "small_mcp", *server_arguments()[kind], "--check-env"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(REPOSITORY)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "usage:" not in done.stderr
    assert done.returncode != 2


def test_every_setting_in_the_files_is_one_of_the_server() -> None:
    for path, text in render().items():
        if path.startswith("deploy/"):
            for name in re.findall(r"\bSMALL_([A-Z_]+)", text):
                setting = BY_NAME.get(name) or BY_NAME[name.removesuffix("_FILE")]
                assert setting.name == name or setting.secret, f"{path}: SMALL_{name}"


def test_proxies_accept_the_longest_message_of_the_server() -> None:
    assert DEFAULT_LIMITS.max_message_bytes == 4 * 2**20
    assert "client_max_body_size 4m;" in render()["deploy/nginx.conf"]
    # Caddy's limit applies while it sends the request on, and would compete with the server's.
    assert "max_size" not in render()["deploy/Caddyfile"]


@pytest.mark.slow
def test_the_server_serves_the_probes_of_the_pods(tmp_path: Path) -> None:
    (container,) = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    folder = write_package(tmp_path)
    with serving(folder, ["small_mcp", "--http", "--port", "0"], SERVED) as port:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert ask(port, "GET", container[probe]["httpGet"]["path"], {})[0] == 200

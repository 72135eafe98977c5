"""Tests of the dashboard file: size, links, ages, and content security policy."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape

import pytest
from msgspec.structs import replace

from mcpgen.factory.dashboard.cells import PageContext
from mcpgen.factory.dashboard.data import make_page_data
from mcpgen.factory.dashboard.evidence import list_linked_files
from mcpgen.factory.dashboard.page import make_page
from mcpgen.factory.status.model import Fleet
from mcpgen.text.content_policy import permit_inline
from tests.support.fleets import NOW, make_fleet

MAX_PAGE_BYTES = 5_500_000


def test_two_hundred_servers_stay_small() -> None:
    assert len(make_page(make_fleet(200), "").encode()) < MAX_PAGE_BYTES


def test_schemas_are_left_out_only_if_they_are_large() -> None:
    def count(fleet: Fleet) -> int:
        servers = make_page_data(fleet, "")["servers"]
        return sum("input_schema" not in tool for it in servers for tool in it["tools"])

    assert count(make_fleet(10)) == 0
    large = make_fleet(200)
    assert 0 < count(large) < sum(len(it.tools) for it in large.servers)
    data = make_page_data(large, "")
    assert all("input_schema" in it["tools"][0] for it in data["servers"])  # each has a share


def test_snippets_and_findings_that_do_not_fit_are_counted() -> None:
    fleet = make_fleet(2)
    finding = {"rule": "r", "severity": "note", "tool": "t", "message": "m" * 1000, "help": "h"}
    servers = tuple(
        replace(
            it, findings=(finding,) * 200, install={"codex": "a", "cursor": "x" * MAX_PAGE_BYTES}
        )
        for it in fleet.servers
    )
    server = make_page_data(replace(fleet, servers=servers), "")["servers"][0]
    assert 0 < len(server["findings"]) < 200
    assert len(server["findings"]) + server["more_findings"] == 200
    assert [it["text"] for it in server["install"]] == ["a", None]
    assert server["install"][1]["clients"] == ["Cursor"]


def test_the_page_refers_to_nothing_outside() -> None:
    page = make_page(make_fleet(5), "")
    assert not re.findall(r"(?:src|action|poster)=", page.partition('id="data"')[0])
    assert not re.findall(
        r"url\(|@import|https?://", re.findall("<style>.*?</style>", page, re.DOTALL)[0]
    )


def test_the_policy_permits_the_script_and_the_style_of_the_page() -> None:
    page = make_page(make_fleet(2), "")
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found
    policy = unescape(found[1])
    assert policy.startswith("default-src 'none'; ")
    style = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    script = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    assert f"style-src {permit_inline(style[-1])};" in policy
    assert f"script-src {permit_inline(script[-1])};" in policy
    assert "require-trusted-types-for 'script'" in policy


def test_all_links_of_the_page_lead_to_files_that_are_served() -> None:
    fleet = make_fleet(30)
    page = make_page(fleet, "")
    links = {unescape(it) for it in re.findall(r'href="\./([^"]*)"', page)}
    assert links
    assert links <= list_linked_files(fleet)


@pytest.mark.parametrize(
    ("time", "age"),
    [
        ("2026-11-24T10:19:30Z", "now"),
        ("2026-11-24T10:20:30Z", "now"),  # the clock of another machine
        ("2026-11-24T09:19:00Z", "1 h"),
        ("2026-11-24T10:08:00Z", "12 min"),
        ("2026-11-23T10:20:00Z", "1 d"),
        ("2026-10-01T10:20:00+02:00", "54 d"),
        ("2026-08-01T10:20:00Z", "3 mo"),
        ("2024-08-01T10:20:00Z", "2 y"),
        ("", "no date"),
        ("yesterday", "no date"),
    ],
)
def test_ages_count_from_the_time_of_the_data(time: str, age: str) -> None:
    assert PageContext("", NOW).format_age(time) == age


def test_without_the_time_of_the_data_there_are_no_ages() -> None:
    assert PageContext("", None).format_age("2026-11-24T10:19:30Z") == "no date"
    fleet = replace(make_fleet(1), now="")
    assert "Examined on" in make_page(fleet, "")
    assert "an unknown time" in make_page(fleet, "")


def test_a_link_leads_from_the_page_to_the_folder_of_the_server() -> None:
    around = PageContext("../servers/", datetime(2026, 1, 1, tzinfo=UTC))
    assert around.link("a b", "x#y.json") == "./../servers/a%20b/x%23y.json"

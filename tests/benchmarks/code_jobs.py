"""Ten jobs of several tool calls for a scripted agent: as single calls, and as code.

The names of tools and operations of GitHub are facts about its API; n8n and Twilio are those of
`specs/`. Nothing here is asked of a real API.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Function that calls a tool and returns its structured result."""


@dataclass(frozen=True)
class Job:
    """One job; `queries` are the agent's searches, `tools` the tools that it then describes."""

    server: str
    goal: str
    queries: tuple[str, ...]
    tools: tuple[str, ...]
    steps: Callable[[Call], Awaitable[object]]
    code: str
    has_loop: bool = True


REPO = {"owner": "acme", "repo": "shop"}


async def count_comments(call: Call) -> int:
    issues = await call("issues_list_for_repo", {**REPO, "state": "open"})
    comments = [
        await call("issues_list_comments", {**REPO, "issue_number": issue["number"]})
        for issue in issues
    ]
    return sum(map(len, comments))


async def count_pulls(call: Call) -> dict[str, int]:
    repos = await call("repos_list_for_org", {"org": "acme"})
    return {
        repo["name"]: len(await call("pulls_list", {"owner": "acme", "repo": repo["name"]}))
        for repo in repos
    }


async def label_issues(call: Call) -> int:
    issues = await call("issues_list_for_repo", {**REPO, "labels": "bug"})
    for issue in issues:
        await call(
            "issues_add_labels",
            {**REPO, "issue_number": issue["number"], "body": {"labels": ["triage"]}},
        )
    return len(issues)


async def look_up_release(call: Call) -> list[Any]:
    repo = await call("repos_get", REPO)
    release = await call("repos_get_latest_release", REPO)
    return [repo["default_branch"], release["tag_name"]]


async def find_failed_executions(call: Call) -> dict[str, int]:
    page = await call("list_workflows", {"active": True})
    return {
        flow["name"]: len(
            (await call("list_executions", {"workflow_id": flow["id"], "status": "error"}))["data"]
        )
        for flow in page["data"]
    }


async def activate_workflows(call: Call) -> int:
    page = await call("list_workflows", {"tags": "nightly"})
    for flow in page["data"]:
        await call("activate_workflow", {"id": flow["id"]})
    return len(page["data"])


async def tag_workflow(call: Call) -> str:
    tag = await call("create_tag", {"body": {"name": "nightly"}})
    await call("set_workflow_tags", {"id": "2tUt1wbLX592XDdX", "body": [{"id": tag["id"]}]})
    return str(tag["id"])


async def read_messages(call: Call) -> int:
    page = await call("list_messages", {"to": "+15005550006"})
    texts = [await call("fetch_message", {"sid": it["sid"]}) for it in page["messages"]]
    return sum(len(text["body"]) for text in texts)


async def count_service_numbers(call: Call) -> dict[str, int]:
    page = await call("list_services", {})
    return {
        service["sid"]: len(
            (await call("list_service_numbers", {"service_sid": service["sid"]}))["phone_numbers"]
        )
        for service in page["services"]
    }


async def read_account(call: Call) -> list[Any]:
    account, balance = await call("fetch_account", {}), await call("fetch_balance", {})
    return [account["status"], balance["balance"]]


JOBS = (
    Job(
        "github", "Count the comments on the open issues of a repository",
        ("list issues of a repository", "list comments of an issue"),
        ("issues_list_for_repo", "issues_list_comments"), count_comments,
        'sum(len(issues_list_comments(owner="acme", repo="shop", issue_number=i["number"]))\n'
        '    for i in issues_list_for_repo(owner="acme", repo="shop", state="open"))',
    ),
    Job(
        "github", "Count the pull requests of each repository of an organization",
        ("list repositories of an organization", "list pull requests"),
        ("repos_list_for_org", "pulls_list"), count_pulls,
        '{r["name"]: len(pulls_list(owner="acme", repo=r["name"]))\n'
        ' for r in repos_list_for_org(org="acme")}',
    ),
    Job(
        "github", "Add a label to every issue with another label",
        ("list issues of a repository", "add labels to an issue"),
        ("issues_list_for_repo", "issues_add_labels"), label_issues,
        'issues = issues_list_for_repo(owner="acme", repo="shop", labels="bug")\n'
        "for i in issues:\n"
        '    issues_add_labels(owner="acme", repo="shop", issue_number=i["number"],\n'
        '                      body={"labels": ["triage"]})\n'
        "len(issues)",
    ),
    Job(
        "github", "Look up the default branch and the latest release",
        ("get a repository", "get the latest release"),
        ("repos_get", "repos_get_latest_release"), look_up_release,
        'repo = repos_get(owner="acme", repo="shop")\n'
        'release = repos_get_latest_release(owner="acme", repo="shop")\n'
        '[repo["default_branch"], release["tag_name"]]',
        has_loop=False,
    ),
    Job(
        "n8n", "Count the failed executions of each active workflow",
        ("list workflows", "list executions"),
        ("list_workflows", "list_executions"), find_failed_executions,
        '{w["name"]: len(list_executions(workflow_id=w["id"], status="error")["data"])\n'
        ' for w in list_workflows(active=True)["data"]}',
    ),
    Job(
        "n8n", "Activate every workflow with a tag",
        ("list workflows", "activate a workflow"),
        ("list_workflows", "activate_workflow"), activate_workflows,
        'flows = list_workflows(tags="nightly")["data"]\n'
        "for w in flows:\n"
        '    activate_workflow(id=w["id"])\n'
        "len(flows)",
    ),
    Job(
        "n8n", "Create a tag and set it on a workflow",
        ("create a tag", "set the tags of a workflow"),
        ("create_tag", "set_workflow_tags"), tag_workflow,
        'tag = create_tag(body={"name": "nightly"})\n'
        'set_workflow_tags(id="2tUt1wbLX592XDdX", body=[{"id": tag["id"]}])\n'
        'tag["id"]',
        has_loop=False,
    ),
    Job(
        "twilio", "Measure the texts of the messages to a number",
        ("list messages", "fetch a message"),
        ("list_messages", "fetch_message"), read_messages,
        'page = list_messages(to="+15005550006")\n'
        'sum(len(fetch_message(sid=m["sid"])["body"]) for m in page["messages"])',
    ),
    Job(
        "twilio", "Count the numbers of each messaging service",
        ("list messaging services", "list the numbers of a service"),
        ("list_services", "list_service_numbers"), count_service_numbers,
        '{s["sid"]: len(list_service_numbers(service_sid=s["sid"])["phone_numbers"])\n'
        ' for s in list_services()["services"]}',
    ),
    Job(
        "twilio", "Read the state and the balance of the account",
        ("fetch the account", "fetch the balance"),
        ("fetch_account", "fetch_balance"), read_account,
        'account, balance = fetch_account(), fetch_balance()\n'
        '[account["status"], balance["balance"]]',
        has_loop=False,
    ),
)  # fmt: skip

"""Tools that ask the client: elicitation (a form, or a URL), sampling, and its roots.

The code is the same for all revisions. A client of 2025-11-25 or before gets a request. A client of
2026-07-28 gets the question as a result and calls again with the answer; the function then runs from
its start. If the client lacks a capability, `ClientCannotError` is raised and reported to it.
"""

import json
from typing import Any

from mcpgen.runtime import Context, Elicited, Features, ToolError

features = Features()

ASK_NAME = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


def completed(answer: Elicited) -> str:
    """Tell what came of a form."""
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


@features.tool()
async def test_elicitation(ctx: Context, *, message: str) -> str:
    """Ask the user to fill in a form.

    Args:
        message: What the user is told.
    """
    answer = await ctx.elicit(
        message,
        {
            "type": "object",
            "properties": {
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            },
            "required": ["username", "email"],
        },
    )
    return f"User response: action={answer.action}, content={json.dumps(answer.content)}"


@features.tool()
async def test_streaming_elicitation(ctx: Context) -> str:
    """Report progress and then ask; whoever declines gets an answer too."""
    ctx.report_progress(1, total=2)
    answer = await ctx.elicit("What is your name?", ASK_NAME)
    return f"Hello, {answer.content['name']}!" if answer.is_accepted else "Hello, stranger!"


@features.tool()
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a default for each kind of field."""
    status = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": status,
        "verified": {"type": "boolean", "default": True},
    }
    return completed(
        await ctx.elicit("Is this right?", {"type": "object", "properties": properties})
    )


@features.tool()
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask to choose: one or several, with titles or without."""
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"},
    ]
    properties: dict[str, Any] = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return completed(await ctx.elicit("Choose", {"type": "object", "properties": properties}))


@features.tool()
async def test_elicitation_url(ctx: Context) -> str:
    """Send the user to a page for what must not pass through the client, such as a password."""
    answer = await ctx.elicit_url(
        "Sign in to continue", "https://accounts.example/sign-in", "sign-in-1"
    )
    if not answer.is_accepted:
        raise ToolError(f"The user did not sign in: {answer.action}")
    return "The user went to the page"


linked: set[str] = set()
"""Accounts that were linked; a real server learns of one when the user comes back from the page."""


@features.tool()
async def test_url_elicitation_required(ctx: Context) -> str:
    """Need an account, and send the user to the page where it is linked until that is done."""
    if "account-1" not in linked:
        linked.add("account-1")
        ctx.require_url("Link your account", "https://accounts.example/link", "account-1")
    ctx.finish_elicitation("account-1")
    return "The account is linked"


@features.tool()
async def test_sampling(ctx: Context, *, prompt: str) -> str:
    """Let the client's model answer.

    Args:
        prompt: What the model is asked.
    """
    answer = await ctx.sample(prompt, max_tokens=100)
    return f"LLM response: {text_of(answer)}"


@features.tool()
async def test_missing_capability(ctx: Context) -> str:
    """Need the client's model; one that lends none gets an error that says so."""
    return text_of(await ctx.sample("Say hello", max_tokens=10))


@features.tool()
async def test_list_roots(ctx: Context) -> str:
    """Ask which folders the client works in."""
    roots = await ctx.list_roots()
    return "\n".join(root["uri"] for root in roots) or "The client works in no folder"


def text_of(answer: dict[str, Any]) -> str:
    """Give the text of what a model answered; it may be one block or several."""
    blocks = answer["content"]
    blocks = blocks if isinstance(blocks, list) else [blocks]
    return "".join(block["text"] for block in blocks if block["type"] == "text")

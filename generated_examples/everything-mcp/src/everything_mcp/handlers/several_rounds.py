"""Questions with names: several at once, one after the other, and what is remembered between.

`key` names a question, so that its answer is known again when the call comes back. `ctx.state`
is what the function wants to find then; it travels sealed, and nobody can read or change it.
"""

from mcpgen.runtime import (
    ClientCannotError,
    Context,
    Features,
    ask_form,
    ask_model,
    ask_roots,
)

from everything_mcp.handlers.asking_the_client import ASK_NAME, text_of

features = Features()

CONFIRM = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
}
ASK_COLOR = {
    "type": "object",
    "properties": {"color": {"type": "string"}},
    "required": ["color"],
}


@features.tool()
async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name, and greet."""
    answer = await ctx.elicit("What is your name?", ASK_NAME, key="user_name")
    return f"Hello, {answer.content['name']}!" if answer.is_accepted else "Hello, stranger!"


@features.tool()
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model a question."""
    question = "What is the capital of France?"
    return text_of(await ctx.sample(question, max_tokens=100, key="capital_question"))


@features.tool()
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the client's folders."""
    roots = await ctx.list_roots(key="client_roots")
    return f"The client works in {', '.join(root['uri'] for root in roots)}"


@features.tool()
async def test_input_required_result_request_state(ctx: Context) -> str:
    """Remember something while the user thinks."""
    is_first_round = "order" not in ctx.state
    if is_first_round:
        ctx.state = {"order": 4711}
    answer = await ctx.elicit("Please confirm", CONFIRM, key="confirm")
    order = ctx.state["order"]
    return f"state-ok: order {order} was {'confirmed' if answer.content.get('ok') else 'dropped'}"


@features.tool()
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask three things at once, and go on when all are answered."""
    answers = await ctx.ask(
        {
            "user_name": ask_form("What is your name?", ASK_NAME),
            "greeting": ask_model("Generate a greeting", max_tokens=50),
            "client_roots": ask_roots(),
        }
    )
    name = answers["user_name"].get("content", {}).get("name", "stranger")
    folders = len(answers["client_roots"].get("roots", []))
    return f"{text_of(answers['greeting'])}, {name}! You have {folders} folders."


@features.tool()
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask one thing after the other."""
    name = await ctx.elicit("Step 1: What is your name?", ASK_NAME, key="step1")
    color = await ctx.elicit("Step 2: What is your favorite color?", ASK_COLOR, key="step2")
    if not (name.is_accepted and color.is_accepted):
        return "As you wish"
    return f"{name.content['name']} likes {color.content['color']}"


@features.tool()
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask; a client that changes the sealed state is refused before this runs again."""
    answer = await ctx.elicit("Go on?", CONFIRM, key="confirm")
    return "Going on" if answer.content.get("ok") else "Stopping here"


@features.tool()
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask the user or, where the client cannot, its model."""
    try:
        answer = await ctx.elicit("What is your name?", ASK_NAME, key="user_name")
    except ClientCannotError:
        return text_of(await ctx.sample("Make up a name", max_tokens=20, key="made_up_name"))
    return answer.content["name"] if answer.is_accepted else "nobody"

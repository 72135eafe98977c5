"""Hand-written overrides of the `declared` tools."""

from mcpgen.runtime import ABSENT, Absent, Context, override

from competitor_research_mcp._generated.calls import GetFindNewsCall
from competitor_research_mcp._generated.models import FindNewsResult, FindNewsResultArticlesItem


@override("tool:find_news")
async def find_news(
    ctx: Context,
    call_next: GetFindNewsCall,
    *,
    words: str,
    days: str | Absent = ABSENT,
    limit: int | Absent = ABSENT,
) -> FindNewsResult:
    """Find articles of newspapers and agencies all over the world, the newest first.

    `tool:find_news`. One report of an agency stands in dozens of papers; a model would take it for
    dozens of reports, so that only the newest of each title is given.
    """
    found = await call_next(ctx, words=words, days=days, limit=limit)
    newest: dict[str, FindNewsResultArticlesItem] = {}
    for article in found.get("articles", []):
        newest.setdefault(article["title"].casefold(), article)
    if newest:
        found["articles"] = list(newest.values())
    return found

"""Completions for arguments of prompts and of the URI template of articles."""

from typing import cast

from mcpgen.runtime import Completion, Context, Features

from helpcenter_mcp._generated.models import ListSectionsResult, SearchArticlesResult

features = Features()
ARTICLE = "helpcenter://articles/{article_id}/text"
LEAST = 2  # characters that a search needs


@features.completion(prompt="review_section", argument="section")
async def complete_section(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:
    """Suggest the sections whose names contain what was typed, those that begin with it first."""
    found = cast("ListSectionsResult", await ctx.call_tool("list_sections", {}))
    typed = value.casefold()
    names = [it["name"] for it in found["sections"] if typed in it["name"].casefold()]
    return sorted(names, key=lambda name: not name.casefold().startswith(typed))


@features.completion(prompt="translate_article", argument="article_id")
async def complete_article(ctx: Context, value: str, arguments: dict[str, str]) -> Completion:
    """Suggest articles for a prompt."""
    return await find_articles(ctx, value)


@features.completion(template=ARTICLE, argument="article_id")
async def complete_resource(ctx: Context, value: str, arguments: dict[str, str]) -> Completion:
    """Suggest articles for the address of a resource."""
    return await find_articles(ctx, value)


async def find_articles(ctx: Context, value: str) -> Completion:
    """Return the numbers of articles that fit words, or that begin with digits."""
    if value.isdigit():
        return Completion((value,))
    if len(value) < LEAST:
        return Completion(())
    query = {"query": value, "per_page": 20}
    found = cast("SearchArticlesResult", await ctx.call_tool("search_articles", query))
    return Completion(tuple(str(it["id"]) for it in found["articles"]))

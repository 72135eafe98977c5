"""Hand-written overrides of the `translations` tools."""

import re
from typing import cast

from mcpgen.runtime import Context, ToolError, override

from helpcenter_mcp._generated.calls import PutArticlesArticleIdTranslationsLocaleCall
from helpcenter_mcp._generated.models import Article, Translation, WriteTranslationBody

TARGET = re.compile(r"\]\(([^)\s]+)")


@override("PUT /articles/{article_id}/translations/{locale}")
async def write_translation(
    ctx: Context,
    call_next: PutArticlesArticleIdTranslationsLocaleCall,
    *,
    article_id: int,
    locale: str,
    body: WriteTranslationBody,
) -> Translation:
    """Write the text of an article: `PUT /articles/{article_id}/translations/{locale}`.

    Models drop pictures and links of long texts. Readers of a translation would miss them, and
    nobody who speaks only the first language would notice.
    """
    first = cast("Article", await ctx.call_tool("get_article", {"article_id": article_id}))
    if first.get("locale") != locale:
        check_targets(first["text"], body["text"])
    return await call_next(ctx, article_id=article_id, locale=locale, body=body)


def check_targets(original: str, translated: str) -> None:
    """Compare the pictures and links of two texts in Markdown.

    Raises:
        ToolError: the translation lacks one of the original.
    """
    kept = set(TARGET.findall(translated))
    if missing := [target for target in TARGET.findall(original) if target not in kept]:
        raise ToolError(f"the translation lacks {', '.join(missing)}; nothing was stored")

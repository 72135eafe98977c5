"""Hand-written overrides of the `performance` tools."""

from datetime import UTC, date, datetime

from mcpgen.runtime import Context, ToolError, override

from search_console_mcp._generated.calls import PostWebmastersV3SitesSiteUrlSearchAnalyticsQueryCall
from search_console_mcp._generated.models import SearchAnalyticsQuery, SearchAnalyticsRows


@override("POST /webmasters/v3/sites/{siteUrl}/searchAnalytics/query")
async def query_search_performance(
    ctx: Context,
    call_next: PostWebmastersV3SitesSiteUrlSearchAnalyticsQueryCall,
    *,
    site: str,
    body: SearchAnalyticsQuery,
) -> SearchAnalyticsRows:
    """Query clicks, impressions, click rate and position.

    `POST /webmasters/v3/sites/{siteUrl}/searchAnalytics/query`. For days to come the API answers
    with no rows, which a model reports as a site that nobody finds.
    """
    check_days(body["startDate"], body["endDate"], today=datetime.now(UTC).date())
    return await call_next(ctx, site=site, body=body)


def check_days(first: str, last: str, *, today: date) -> None:
    """Refuse a span of days that cannot have any rows.

    Raises:
        ToolError: it ends before it starts, or has only days to come.
    """
    if last < first:
        raise ToolError(f"endDate {last} is before startDate {first}: exchange the two")
    if first > today.isoformat():
        raise ToolError(f"startDate {first} is still to come: today is {today.isoformat()}")

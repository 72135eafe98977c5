"""Hand-written overrides of the `accounts` tools.

The API calls an account `act_1234` in its answers. Every tool takes the number alone, as the paths
have `act_` themselves; so the tools that tell of accounts give the number alone.
"""

from mcpgen.runtime import ABSENT, Absent, Context, override

from meta_ads_mcp._generated.calls import GetActAdAccountIdCall, GetMeAdaccountsCall
from meta_ads_mcp._generated.models import AdAccount, ListAdAccountsResult


@override("GET /me/adaccounts")
async def list_ad_accounts(
    ctx: Context,
    call_next: GetMeAdaccountsCall,
    *,
    fields: list[str],
    limit: int | Absent = ABSENT,
    after: str | Absent = ABSENT,
) -> ListAdAccountsResult:
    """List the ad accounts that the token reaches: `GET /me/adaccounts`."""
    page = await call_next(ctx, fields=fields, limit=limit, after=after)
    page["data"] = [by_number(account) for account in page["data"]]
    return page


@override("GET /act_{ad_account_id}")
async def get_ad_account(
    ctx: Context, call_next: GetActAdAccountIdCall, *, ad_account_id: str, fields: list[str]
) -> AdAccount:
    """Fetch an ad account: `GET /act_{ad_account_id}`."""
    return by_number(await call_next(ctx, ad_account_id=ad_account_id, fields=fields))


def by_number(account: AdAccount) -> AdAccount:
    """The account with its number as its id, as the other tools take it."""
    return {**account, "id": account["id"].removeprefix("act_")}

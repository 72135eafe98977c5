"""Hand-written overrides of the `accounts` tools: numbers of accounts are masked."""

from mcpgen.runtime import Context, after

from ledger_mcp._generated.calls import GetAccountsAccountIdCall, GetAccountsCall
from ledger_mcp._generated.models import Account, ListAccountsResult
from ledger_mcp.handlers.masks import mask_iban


@after("GET /accounts", call=GetAccountsCall.__call__)
async def mask_accounts(ctx: Context, result: ListAccountsResult) -> ListAccountsResult:
    for account in result["accounts"]:
        account["iban"] = mask_iban(account["iban"])
    return result


@after("GET /accounts/{account_id}", call=GetAccountsAccountIdCall.__call__)
async def mask_account(ctx: Context, result: Account) -> Account:
    result["iban"] = mask_iban(result["iban"])
    return result

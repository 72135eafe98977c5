"""Hand-written overrides of the `customs_declarations` tools."""

from mcpgen.runtime import Context, ToolError, override

from harbor_mcp._generated.calls import PostCustomsDeclarationsCall
from harbor_mcp._generated.models import CustomsDeclaration, CustomsDraft
from harbor_mcp.handlers.check_digits import is_container_number


@override("customs:POST /declarations")
async def customs_draft_declaration(
    ctx: Context, call_next: PostCustomsDeclarationsCall, *, body: CustomsDraft
) -> CustomsDeclaration:
    """Draft a declaration: `customs:POST /declarations`.

    Customs accepts any container number in a draft and rejects the submitted declaration days
    later. The check digit shows most typing errors now.
    """
    containers = {item["container"] for item in body["items"]}
    wrong = sorted(it for it in containers if not is_container_number(it))
    if wrong:
        raise ToolError(f"the check digit is wrong in {', '.join(wrong)}: ask for the number again")
    return await call_next(ctx, body=body)

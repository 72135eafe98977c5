"""Hand-written overrides of the `messages` tools."""

import re

from mcpgen.runtime import Context, ToolError, override

from twilio_mcp._generated.calls import Post20100401AccountsAccountSidMessagesJsonCall
from twilio_mcp._generated.models import Message, SendMessageBody

LONGEST_SHORT_CODE = 6


@override("POST /2010-04-01/Accounts/{AccountSid}/Messages.json")
async def send_message(
    ctx: Context,
    call_next: Post20100401AccountsAccountSidMessagesJsonCall,
    *,
    body: SendMessageBody,
) -> Message:
    """Send a text message: `POST /2010-04-01/Accounts/{AccountSid}/Messages.json`.

    Models copy numbers as people write them. Of one without a country Twilio has to guess it, and a
    stranger may get the message.
    """
    body = {**body, "To": e164(body["To"])}
    if "From" in body:
        body["From"] = e164(body["From"])
    return await call_next(ctx, body=body)


def e164(address: str) -> str:
    """Give `address` with its number in E.164; a short code stays as it is.

    Raises:
        ToolError: the number does not say which country it is of.
    """
    channel, colon, number = address.rpartition(":")
    digits = re.sub(r"[ ().-]", "", number)
    if digits.startswith("00"):
        digits = "+" + digits[2:]
    if not digits.startswith("+") and len(digits) > LONGEST_SHORT_CODE:
        raise ToolError(f"{number} lacks its country: write it like +14155550100")
    return f"{channel}{colon}{digits}"

"""Hand-written overrides of the `deliveries` tools."""

from mcpgen.runtime import Context, override

from eventhub_mcp._generated.calls import GetDeliveriesDeliveryIdCall
from eventhub_mcp._generated.models import Delivery

SECRET_HEADERS = {"authorization", "proxy-authorization", "set-cookie", "www-authenticate"}
WORDS_OF_SECRETS = ("api-key", "secret", "signature", "token")
MASK = "(masked)"


@override("GET /deliveries/{delivery_id}")
async def get_delivery(
    ctx: Context, call_next: GetDeliveriesDeliveryIdCall, *, delivery_id: str
) -> Delivery:
    """Fetch one attempt with the answer of the endpoint: `GET /deliveries/{delivery_id}`.

    Endpoints belong to others, and answer with cookies and tokens that no model has to see.
    """
    delivery = await call_next(ctx, delivery_id=delivery_id)
    if "response_headers" in delivery:
        headers = delivery["response_headers"]
        delivery["response_headers"] = {
            name: MASK if is_secret(name) else value for name, value in headers.items()
        }
    return delivery


def is_secret(header: str) -> bool:
    """Return whether the value of a header may be a credential."""
    name = header.lower()
    return name in SECRET_HEADERS or any(word in name for word in WORDS_OF_SECRETS)

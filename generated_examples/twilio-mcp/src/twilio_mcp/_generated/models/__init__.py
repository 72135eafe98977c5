"""The models of Twilio messaging: a module for each tag, and `shared` for what tags share.

They are `TypedDict`s, so that absent (`NotRequired`) and null (`| None`) stay apart. They type the
handlers; what is valid is decided by the JSON Schemas beside the tools. Import them from here: a
model moves between the modules when tags do.
"""

from twilio_mcp._generated.models.account import (
    FetchAccountResult,
    FetchBalanceResult,
    ListUsageResult,
    ListUsageResultUsageRecordsItem,
)
from twilio_mcp._generated.models.lookup import (
    LookUpNumberResult,
    LookUpNumberResultCallerName,
    LookUpNumberResultLineTypeIntelligence,
)
from twilio_mcp._generated.models.messages import (
    ListMediaResult,
    ListMessagesResult,
    Media,
    Message,
    RedactOrCancelMessageBody,
    SendMessageBody,
)
from twilio_mcp._generated.models.numbers import (
    Capabilities,
    ListNumbersResult,
    PhoneNumber,
    SearchAvailableNumbersResult,
    SearchAvailableNumbersResultAvailablePhoneNumbersItem,
    UpdateNumberBody,
)
from twilio_mcp._generated.models.senders import (
    AddServiceNumberBody,
    CreateServiceBody,
    ListServiceNumbersResult,
    ListServicesResult,
    Meta,
    Service,
    ServiceChanges,
    ServiceNumber,
)

__all__ = [
    "AddServiceNumberBody",
    "Capabilities",
    "CreateServiceBody",
    "FetchAccountResult",
    "FetchBalanceResult",
    "ListMediaResult",
    "ListMessagesResult",
    "ListNumbersResult",
    "ListServiceNumbersResult",
    "ListServicesResult",
    "ListUsageResult",
    "ListUsageResultUsageRecordsItem",
    "LookUpNumberResult",
    "LookUpNumberResultCallerName",
    "LookUpNumberResultLineTypeIntelligence",
    "Media",
    "Message",
    "Meta",
    "PhoneNumber",
    "RedactOrCancelMessageBody",
    "SearchAvailableNumbersResult",
    "SearchAvailableNumbersResultAvailablePhoneNumbersItem",
    "SendMessageBody",
    "Service",
    "ServiceChanges",
    "ServiceNumber",
    "UpdateNumberBody",
]

"""The models of Reonomy: a module for each tag, and `shared` for what tags share.

They are `TypedDict`s, so that absent (`NotRequired`) and null (`| None`) stay apart. They type the
handlers; what is valid is decided by the JSON Schemas beside the tools. Import them from here: a
model moves between the modules when tags do.
"""

from reonomy_mcp._generated.models.people import FindOwnersResult, Person
from reonomy_mcp._generated.models.properties import (
    GetPropertiesBody,
    GetPropertiesResult,
    Mortgage,
    Property,
    Sale,
    Tax,
    Tenant,
)
from reonomy_mcp._generated.models.reference import ListLandUseCodesResultItem
from reonomy_mcp._generated.models.search import (
    Box,
    CountPropertiesBody,
    CountPropertiesResult,
    DateRange,
    FindParcelsBody,
    FindParcelsResult,
    FindParcelsResultItemsItem,
    FindPropertyByAddressBody,
    FindPropertyByAddressResult,
    Range,
    Search,
    SearchSettings,
    SearchSortItem,
)
from reonomy_mcp._generated.models.shared import (
    Address,
    Location,
    Point,
    SummaryPage,
    SummaryPageItemsItem,
)

__all__ = [
    "Address",
    "Box",
    "CountPropertiesBody",
    "CountPropertiesResult",
    "DateRange",
    "FindOwnersResult",
    "FindParcelsBody",
    "FindParcelsResult",
    "FindParcelsResultItemsItem",
    "FindPropertyByAddressBody",
    "FindPropertyByAddressResult",
    "GetPropertiesBody",
    "GetPropertiesResult",
    "ListLandUseCodesResultItem",
    "Location",
    "Mortgage",
    "Person",
    "Point",
    "Property",
    "Range",
    "Sale",
    "Search",
    "SearchSettings",
    "SearchSortItem",
    "SummaryPage",
    "SummaryPageItemsItem",
    "Tax",
    "Tenant",
]

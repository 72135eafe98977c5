"""The models of Google Search Console: a module for each tag, and `shared` for what tags share.

They are `TypedDict`s, so that absent (`NotRequired`) and null (`| None`) stay apart. They type the
handlers; what is valid is decided by the JSON Schemas beside the tools. Import them from here: a
model moves between the modules when tags do.
"""

from search_console_mcp._generated.models.inspection import (
    InspectUrlBody,
    InspectUrlResult,
    UrlInspection,
    UrlInspectionIndexStatusResult,
    UrlInspectionRichResultsResult,
    UrlInspectionRichResultsResultDetectedItemsItem,
)
from search_console_mcp._generated.models.performance import (
    FilterGroup,
    FilterGroupFiltersItem,
    SearchAnalyticsQuery,
    SearchAnalyticsRows,
    SearchAnalyticsRowsMetadata,
    SearchAnalyticsRowsRowsItem,
)
from search_console_mcp._generated.models.sitemaps import (
    ListSitemapsResult,
    Sitemap,
    SitemapContentsItem,
)
from search_console_mcp._generated.models.sites import ListSitesResult, Site

__all__ = [
    "FilterGroup",
    "FilterGroupFiltersItem",
    "InspectUrlBody",
    "InspectUrlResult",
    "ListSitemapsResult",
    "ListSitesResult",
    "SearchAnalyticsQuery",
    "SearchAnalyticsRows",
    "SearchAnalyticsRowsMetadata",
    "SearchAnalyticsRowsRowsItem",
    "Site",
    "Sitemap",
    "SitemapContentsItem",
    "UrlInspection",
    "UrlInspectionIndexStatusResult",
    "UrlInspectionRichResultsResult",
    "UrlInspectionRichResultsResultDetectedItemsItem",
]

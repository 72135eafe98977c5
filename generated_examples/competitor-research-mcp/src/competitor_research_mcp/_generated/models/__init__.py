"""The models of Competitor research: a module for each tag, and `shared` for what tags share.

They are `TypedDict`s, so that absent (`NotRequired`) and null (`| None`) stay apart. They type the
handlers; what is valid is decided by the JSON Schemas beside the tools. Import them from here: a
model moves between the modules when tags do.
"""

from competitor_research_mcp._generated.models.declared import (
    CountPageViewsResult,
    CountPageViewsResultItemsItem,
    FindDiscussionsResult,
    FindDiscussionsResultHitsItem,
    FindNewsResult,
    FindNewsResultArticlesItem,
    FindRepositoriesResult,
    FindRepositoriesResultItemsItem,
    ListReleasesResultItem,
    ReadCompanyPageResult,
    ReadFilingsResult,
    ReadFilingsResultFilings,
    ReadFilingsResultFilingsRecent,
)

__all__ = [
    "CountPageViewsResult",
    "CountPageViewsResultItemsItem",
    "FindDiscussionsResult",
    "FindDiscussionsResultHitsItem",
    "FindNewsResult",
    "FindNewsResultArticlesItem",
    "FindRepositoriesResult",
    "FindRepositoriesResultItemsItem",
    "ListReleasesResultItem",
    "ReadCompanyPageResult",
    "ReadFilingsResult",
    "ReadFilingsResultFilings",
    "ReadFilingsResultFilingsRecent",
]

"""The models of Meta ads: a module for each tag, and `shared` for what tags share.

They are `TypedDict`s, so that absent (`NotRequired`) and null (`| None`) stay apart. They type the
handlers; what is valid is decided by the JSON Schemas beside the tools. Import them from here: a
model moves between the modules when tags do.
"""

from meta_ads_mcp._generated.models.accounts import AdAccount, ListAdAccountsResult
from meta_ads_mcp._generated.models.ads import (
    Ad,
    AdCreative,
    CreateAdBody,
    CreateAdBodyCreative,
    CreateAdResult,
    ListAdsResult,
)
from meta_ads_mcp._generated.models.adsets import (
    AdSet,
    CreateAdSetBody,
    CreateAdSetResult,
    ListAdSetsResult,
    ListCampaignAdSetsResult,
    Targeting,
    TargetingGeoLocations,
    TargetingGeoLocationsCitiesItem,
    TargetingInterestsItem,
)
from meta_ads_mcp._generated.models.audiences import (
    ListCustomAudiencesResult,
    ListCustomAudiencesResultDataItem,
    SearchInterestsAndPlacesResult,
    SearchInterestsAndPlacesResultDataItem,
)
from meta_ads_mcp._generated.models.campaigns import (
    Campaign,
    CampaignChanges,
    CreateCampaignBody,
    CreateCampaignResult,
    DeleteCampaignResult,
    ListCampaignsResult,
    UpdateCampaignResult,
)
from meta_ads_mcp._generated.models.creatives import (
    CreateLinkCreativeBody,
    CreateLinkCreativeBodyObjectStorySpec,
    CreateLinkCreativeBodyObjectStorySpecLinkData,
    CreateLinkCreativeBodyObjectStorySpecLinkDataCallToAction,
    CreateLinkCreativeResult,
    Creative,
    ListCreativesResult,
)
from meta_ads_mcp._generated.models.insights import (
    GetInsightsReportResult,
    GetInsightsResult,
    Insight,
    InsightActionsItem,
    StartInsightsReportBody,
    StartInsightsReportResult,
    TimeRange,
)
from meta_ads_mcp._generated.models.shared import PagePaging, PagePagingCursors

__all__ = [
    "Ad",
    "AdAccount",
    "AdCreative",
    "AdSet",
    "Campaign",
    "CampaignChanges",
    "CreateAdBody",
    "CreateAdBodyCreative",
    "CreateAdResult",
    "CreateAdSetBody",
    "CreateAdSetResult",
    "CreateCampaignBody",
    "CreateCampaignResult",
    "CreateLinkCreativeBody",
    "CreateLinkCreativeBodyObjectStorySpec",
    "CreateLinkCreativeBodyObjectStorySpecLinkData",
    "CreateLinkCreativeBodyObjectStorySpecLinkDataCallToAction",
    "CreateLinkCreativeResult",
    "Creative",
    "DeleteCampaignResult",
    "GetInsightsReportResult",
    "GetInsightsResult",
    "Insight",
    "InsightActionsItem",
    "ListAdAccountsResult",
    "ListAdSetsResult",
    "ListAdsResult",
    "ListCampaignAdSetsResult",
    "ListCampaignsResult",
    "ListCreativesResult",
    "ListCustomAudiencesResult",
    "ListCustomAudiencesResultDataItem",
    "PagePaging",
    "PagePagingCursors",
    "SearchInterestsAndPlacesResult",
    "SearchInterestsAndPlacesResultDataItem",
    "StartInsightsReportBody",
    "StartInsightsReportResult",
    "Targeting",
    "TargetingGeoLocations",
    "TargetingGeoLocationsCitiesItem",
    "TargetingInterestsItem",
    "TimeRange",
    "UpdateCampaignResult",
]

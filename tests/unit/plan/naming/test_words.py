"""Tests of splitting identifiers into words, and of knowledge about English words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.plan.naming.words import base_form, singular, snake_case


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("floatingIPs", "floating_ips"),
        ("listURLsOfUser", "list_urls_of_user"),
        ("userIDs", "user_ids"),
        ("PDFs", "pdfs"),
        ("OAuth2", "oauth2"),
        ("oAuth2Token", "oauth2_token"),
        ("registerOAuth2Client", "register_oauth2_client"),
        ("videoAuth", "video_auth"),
        ("IPv4Addresses", "ipv4_addresses"),
        ("GraphQL", "graphql"),
        ("graphQLQuery", "graphql_query"),
        ("iOSApps", "ios_apps"),
        ("getIOSApp", "get_ios_app"),
        ("idPOSTOrder", "id_post_order"),
        ("GitHubApps", "github_apps"),
        ("getETag", "get_etag"),
        ("enable2FA", "enable_2fa"),
        ("B2BOrders", "b2b_orders"),
        ("3DSecure", "3d_secure"),
        ("S3Bucket", "s3_bucket"),
        ("S3API", "s3_api"),
        ("sha256Sum", "sha256_sum"),
        ("EC2Instances", "ec2_instances"),
        ("appsV1beta1Deployment", "apps_v1beta1_deployment"),
        ("getHTTPStatus", "get_http_status"),
        ("HTTPSServer", "https_server"),
        ("A/B", "a_b"),
        ("ABCDef", "abc_def"),
        ("éé", "ee"),
        ("", ""),
    ],
)
def test_text_is_converted_to_snake_case(text: str, name: str) -> None:
    assert snake_case(text) == name


@given(st.text(max_size=40))
def test_snake_case_is_idempotent_and_lower_case(text: str) -> None:
    name = snake_case(text)
    assert re.fullmatch(r"([a-z0-9]+(_[a-z0-9]+)*)?", name)
    assert snake_case(name) == name


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("pets", "pet"),
        ("statuses", "status"),
        ("addresses", "address"),
        ("categories", "category"),
        ("boxes", "box"),
        ("branches", "branch"),
        ("caches", "cache"),
        ("warehouses", "warehouse"),
        ("databases", "database"),
        ("heroes", "hero"),
        ("movies", "movie"),
        ("people", "person"),
        ("ids", "id"),
        ("urls", "url"),
        *((word, word) for word in ("status", "news", "series", "sms", "analysis", "settings")),
        *((word, word) for word in ("access", "https", "data", "s3", "bus", "")),
    ],
)
def test_singular_returns_the_correct_singular_or_nothing(plural: str, one: str) -> None:
    assert singular(plural) == one


@pytest.mark.parametrize(
    ("word", "verb"), [("creates", "create"), ("fetches", "fetch"), ("applies", "apply")]
)
def test_base_form_converts_the_third_person(word: str, verb: str) -> None:
    assert base_form(word) == verb
    assert base_form(verb) == verb
    assert base_form("status") == "status"

"""Tests of a small, fixed part of the corpus; `make corpus` checks all documents.

It has the versions 2.0, 3.0, 3.1 and 3.2; every style and body kind; well-known APIs that violate
the specification; documents without operations; documents of which no server can be made.
"""

from __future__ import annotations

import pytest

from tests.corpus.in_children import Failure, in_children
from tests.corpus.table import Judged, is_right
from tests.corpus.verdict import judge
from tests.support.corpus import CORPUS, corpus_documents, is_present

pytestmark = pytest.mark.skipif(not is_present(), reason=f"no corpus in {CORPUS}")

SECONDS = 120
PART = (
    "ag-adyen.com-HopService-6.yaml",
    "ag-amazonaws.com-mediastore-data-2017-09-01.yaml",
    "ag-azure.com-azsadmin-Operations-2016-05-01.yaml",
    "ag-mastercard.com-Repower-V2.yaml",
    "ag-nexmo.com-media-1.0.2.yaml",
    "ag-npr.org-identity-2.yaml",
    "ag-voodoomfg.com-2.0.0.yaml",
    "agn-facecheck.id.json",
    "api-schemas-common.yaml",
    "argo-workflows-pkg-apiclient-_.primary.swagger.json",
    "go-swagger-bugs-2137-fixture-2137.yaml",
    "go-swagger-codegen-todolist.arrayquery.yaml",
    "gram-internal-openapi-speakeasy-bar.yaml",
    "hellosign-openapi-oseg-root_level_non_objects.yaml",
    "kiota-Kiota.Builder.IntegrationTests-multi-inline-binding.yaml",
    "libopenapi-index-rolodex_test_data-doc2.yaml",
    "oas-examples-8.2.2-3.0-yaml-server-variables.yaml",
    "openapi-openapi-walk.openapi.yaml",
    "openapi-ts-3.1.x-sdk-signatures.yaml",
    "OpenAPI.NET-Samples-OpenApiPathItem-pathItemWithQueryAndAdditionalOperations.yaml",
    "opensearch-api-specification-namespaces-knn.yaml",
    "redocly-cli-e2e-generate-client-query-styles.yaml",
    "redocly-cli-examples-_shared-cafe.yaml",
    "redocly-cli-lint-oas3.2-openapi.yaml",
    "swagger-parser-swagger-parser-v3-issue-1119.yaml",
)


@pytest.mark.parametrize("name", PART)
def test_a_document_produces_a_correct_server_or_a_clear_error(name: str) -> None:
    (document,) = [each for each in corpus_documents() if each.name == name]
    ((_, result),) = in_children(judge, [document], at_once=1, seconds=SECONDS)
    assert not isinstance(result, Failure), f"{result.kind}: {result.text}"
    assert is_right(Judged(document, result)), (result.outcome, result.reasons, result.faults)

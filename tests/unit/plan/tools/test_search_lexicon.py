"""Tests of the words of users that are mapped to words of an API."""

from __future__ import annotations

from mcpgen.plan.tools.search_lexicon import find_related
from mcpgen.search.words import split_phrase, words


def weights(said: str, related: dict[str, dict[int, str]]) -> dict[str, int]:
    """Return the weight of each term that a word or phrase is mapped to."""
    grouped = related.get(" ".join(split_phrase(said)), {})
    return {term: tenths for tenths, terms in grouped.items() for term in terms.split()}


def terms(text: str) -> set[str]:
    return {*words(text)}


def test_everyday_words_and_phrases_lead_to_the_words_of_apis() -> None:
    found = find_related(terms("droplet vpc refund"), set())

    assert terms("droplet") <= {*weights("virtual machine", found)}
    assert terms("vpc") <= {*weights("private network", found)}
    assert terms("refund") <= {*weights("money back", found)}


def test_only_words_of_the_index_are_related() -> None:
    found = find_related(terms("refund"), set())

    leads = {
        term for grouped in found.values() for line in grouped.values() for term in line.split()
    }
    assert leads == terms("refund")
    assert weights("private network", found) == {}


def test_a_word_that_the_api_itself_uses_for_its_things_leads_less_to_others() -> None:
    (server,), box = words("server"), "box"
    known = terms("server box")

    own = weights(box, find_related(known, terms(box)))[server]
    assert 0 < own < weights(box, find_related(known, set()))[server]


def test_wordnet_relates_words_that_the_vocabulary_does_not_have() -> None:
    found = find_related(terms("car customer"), set())

    assert {*weights("automobile", found)} == terms("car")


def test_a_compound_is_found_by_its_last_part() -> None:
    found = find_related(terms("subcontractor sub contractor"), set())

    assert weights("contractor", found)[words("subcontractor")[0]] > 0
    assert weights("subway", found) == {}

"""Tests of URI templates: the examples of RFC 6570, and matching."""

from __future__ import annotations

import pytest

from mcpgen.text.uri_template import UriTemplate, Value

VALUES: dict[str, Value] = {  # RFC 6570, section 3.2
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_keys": {},
    "undef": None,
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{count}", "one,two,three"),
        ("{count*}", "one,two,three"),
        ("{/count}", "/one,two,three"),
        ("{/count*}", "/one/two/three"),
        ("{;count}", ";count=one,two,three"),
        ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count}", "?count=one,two,three"),
        ("{?count*}", "?count=one&count=two&count=three"),
        ("{&count*}", "&count=one&count=two&count=three"),
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"),
        ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+keys*}", "semi=;,dot=.,comma=,"),
        ("{#var}", "#value"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("X{.var}", "X.value"),
        ("www{.dom*}", "www.example.com"),
        ("X{.empty_keys}", "X"),
        ("{/who}", "/fred"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/var:1,var}", "/v/value"),
        ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
        ("{;who}", ";who=fred"),
        ("{;empty}", ";empty"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
        ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ],
)
def test_a_template_expands_as_rfc_6570_specifies(template: str, expected: str) -> None:
    assert UriTemplate(template).expand(VALUES) == expected


@pytest.mark.parametrize("text", ["{", "}", "{}", "{a b}", "{a", "a}", "{=x}", "{x:0}", "{x:a}"])
def test_an_invalid_template_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"brace|expression"):
        UriTemplate(text)


@pytest.mark.parametrize(
    ("template", "uri", "expected"),
    [
        ("test://page/{id}", "test://page/7", {"id": "7"}),
        ("test://page/{id}", "test://page/a%20b%2Fc", {"id": "a b/c"}),
        ("test://page/{id}", "test://page/%E6%97%A5", {"id": "日"}),
        ("test://page/{id}", "test://page/", None),
        ("test://page/{id}", "test://page/7/8", None),
        ("test://page/{id}", "test://page/7?x", None),
        ("test://page/{id}", "test://pages/7", None),
        ("test://page/{id}", "test://page/%FF", None),
        ("test://{a}/{b}/data", "test://1/2/data", {"a": "1", "b": "2"}),
        ("file:///{+path}", "file:///a/b/c.txt", {"path": "a/b/c.txt"}),
        ("test://x{/a,b}", "test://x/1/2", {"a": "1", "b": "2"}),
        ("test://x{?q,page}", "test://x?q=cats&page=2", {"q": "cats", "page": "2"}),
        ("test://x{?q,page}", "test://x?q=cats", {"q": "cats"}),
        ("test://x{?q,page}", "test://x?page=2&q=cats", {"q": "cats", "page": "2"}),
        ("test://x{?q,page}", "test://x?q=cats&other=1", None),
        ("test://x?a=1{&q}", "test://x?a=1&q=cats", {"q": "cats"}),
        ("test://x{;q}", "test://x;q=cats", {"q": "cats"}),
        ("test://x/{id}.json", "test://x/a.json.json", {"id": "a.json"}),
        ("test://x{?q}", "test://x", {}),
        ("test://{a}/{a}", "test://1/1", {"a": "1"}),
        ("test://{a}/{a}", "test://1/2", None),
        ("test://a.b/{x}", "test://aXb/1", None),
        ("test://{code:2}", "test://no", {"code": "no"}),
        ("test://{code:2}", "test://nor", None),
    ],
)
def test_match_returns_the_variables_of_a_uri(
    template: str, uri: str, expected: dict[str, str] | None
) -> None:
    assert UriTemplate(template).match(uri) == expected


def test_match_reverses_expand() -> None:
    template = UriTemplate("test://{kind}/items{/id}{?q}")
    values = {"kind": "päge", "id": "a/b ?#c", "q": "x&y=z"}
    assert template.match(template.expand(values)) == values
    assert template.variables == ("kind", "id", "q")


@pytest.mark.parametrize("text", ["test://{a}{b}", "test://{a,b*}{c}", "test://{?a}/{b}"])
def test_match_raises_for_an_ambiguous_template(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be matched"):
        UriTemplate(text).match("test://x")


def test_matching_time_is_linear_in_the_length_of_the_uri() -> None:
    template = UriTemplate("test://{a}-{b}-{c}-{d}-{e}-{f}/{+g}/{+h}/end")
    assert template.match("test://" + "a-/" * 50_000) is None

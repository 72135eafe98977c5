"""What a response means: the value that a handler gets, or an error that a model can act on."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec

from mcpgen.runtime.media import Media
from mcpgen.runtime.upstream.errors import MalformedResponseError, UpstreamStatusError
from mcpgen.runtime.upstream.http import HttpResponse, is_stream
from mcpgen.runtime.upstream.parameters import charset_of, is_json
from mcpgen.runtime.upstream.redaction import Redactor
from mcpgen.runtime.upstream.streams import items_of_stream

_TEXT_TYPES = frozenset(
    {
        "application/csv",
        "application/graphql",
        "application/javascript",
        "application/jwt",
        "application/sql",
        "application/toml",
        "application/x-www-form-urlencoded",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)


def _media_type_of(response: HttpResponse) -> str:
    """The media type of a response, without parameters, in lower case; "" when it tells none."""
    return response.header("Content-Type").partition(";")[0].strip().lower()


def decode_response(response: HttpResponse, accept: tuple[str, ...], redactor: Redactor) -> Any:
    """The value of a successful response: JSON, text, `Media`, or None when it is empty.

    A stream of events or lines is the list of them, as far as it was read.

    `accept` is what the operation declares; a response of another kind is refused, except JSON
    under another name.

    Raises:
        MalformedResponseError: it is not what its media type says, or not what was asked for.
    """
    if not response.body or response.status in {204, 205}:
        return None
    media_type = _media_type_of(response)
    if is_json(media_type):
        return _json_value(response, redactor)
    if is_stream(media_type) and _is_accepted(media_type, accept):
        return items_of_stream(media_type, _text(response), is_cut_off=response.is_cut_off)
    if not media_type or (not _is_accepted(media_type, accept) and _looks_like_json(response)):
        return _guessed_value(response)
    if not _is_accepted(media_type, accept):
        excerpt = redactor.excerpt(_text(response))
        shown = "" if _is_binary(media_type) else f" It begins: {excerpt}"
        raise MalformedResponseError(
            f"answered {response.status} with `{media_type}`, where {_listed(accept)} was "
            f"expected.{shown}"
        )
    if _is_binary(media_type):
        return Media(response.body, media_type)
    return _text(response)


def _is_accepted(media_type: str, accept: tuple[str, ...]) -> bool:
    if not accept:
        return True
    for entry in accept:
        wanted = entry.partition(";")[0].strip().lower()
        if wanted in {"*/*", media_type} or (
            wanted.endswith("/*") and media_type.startswith(wanted[:-1])
        ):
            return True
    return False


def _is_binary(media_type: str) -> bool:
    return (
        not (
            media_type.startswith("text/")
            or media_type.endswith(("+xml", "+yaml", "+json"))
            or media_type in _TEXT_TYPES
            or is_json(media_type)
        )
        or media_type == "image/svg+xml"
    )


def _listed(accept: tuple[str, ...]) -> str:
    return " or ".join(f"`{media_type}`" for media_type in accept)


def _looks_like_json(response: HttpResponse) -> bool:
    return response.body.lstrip()[:1] in {b"{", b"["} and _decoded_json(response.body) is not None


def _decoded_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return None


def _guessed_value(response: HttpResponse) -> Any:
    """The value of a response that does not say what it is."""
    decoded = _decoded_json(response.body)
    if decoded is not None:
        return decoded
    try:
        return response.body.decode()
    except UnicodeDecodeError:
        return Media(response.body, "application/octet-stream")


def _json_value(response: HttpResponse, redactor: Redactor) -> Any:
    body = response.body.removeprefix(b"\xef\xbb\xbf")
    if not body.strip():
        return None
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        raise MalformedResponseError(
            f"answered {response.status} with JSON that is nested too deeply to be read"
        ) from None
    except ValueError:
        excerpt = redactor.excerpt(_text(response), 300)
        raise MalformedResponseError(
            f"answered {response.status} with what should be JSON and is not. It begins: {excerpt}"
        ) from None


def _text(response: HttpResponse) -> str:
    charset = charset_of(response.header("Content-Type"))
    try:
        return response.body.decode(charset, "replace")
    except LookupError:
        return response.body.decode("utf-8", "replace")


# Errors

_NEXT_STEPS = {
    400: "Change the arguments as it says, then call again.",
    404: "Check the identifiers; a tool that lists or searches may give the right ones.",
    405: "Another tool may serve this purpose.",
    409: "Read the current state first, then decide what to change.",
    410: "It is gone for good; look for what replaced it.",
    412: "Read the current state first, then repeat the change on it.",
    413: "Send less at once.",
    422: "Change the arguments as it says, then call again.",
    423: "It is locked; try again later.",
}


def status_error(
    response: HttpResponse,
    redactor: Redactor,
    *,
    retry_after: float | None,
    credential_variables: tuple[str, ...],
) -> UpstreamStatusError:
    """The error that an unsuccessful response stands for, with what to do next."""
    status = response.status
    problem = _problem(response)
    said = _said(response, problem, redactor)
    message = f"answered {status}{_phrase(status)}{': ' + said if said else '.'}"
    step = _next_step(status, retry_after, credential_variables)
    if not message.endswith((".", "!", "?", "…")):
        message += "."
    return UpstreamStatusError(
        f"{message} {step}".rstrip(),
        status=status,
        problem=problem,
        retry_after_seconds=retry_after,
        headers=response.headers,
    )


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _problem(response: HttpResponse) -> dict[str, Any] | None:
    media_type = _media_type_of(response)
    if not is_json(media_type) and not _looks_like_json(response):
        return None
    decoded = _decoded_json(response.body)
    return decoded if isinstance(decoded, dict) else None


def _said(response: HttpResponse, problem: dict[str, Any] | None, redactor: Redactor) -> str:
    """What the API gives as the reason: title and detail (RFC 9457), else its body, cut."""
    if 300 <= response.status < 400:
        return "it points elsewhere, and redirects are not followed"
    if problem is not None:
        title, detail = problem.get("title"), problem.get("detail")
        texts = [text.rstrip(".") for text in (title, detail) if isinstance(text, str) and text]
        extra = {
            key: value
            for key, value in problem.items()
            if key not in {"title", "detail", "status", "type", "instance"}
        }
        if texts and not extra:
            return redactor.excerpt(". ".join(texts))
        if texts:
            rest = msgspec.json.encode(extra).decode()
            return redactor.excerpt(f"{'. '.join(texts)}. {rest}")
    if not response.body or _is_binary(_media_type_of(response) or "text/plain"):
        return ""
    text = _text(response)
    if _media_type_of(response) in {"text/html", "application/xhtml+xml"}:
        return ""  # an error page is made for eyes, and says what the status says
    return redactor.excerpt(text)


def _next_step(status: int, retry_after: float | None, variables: tuple[str, ...]) -> str:
    if retry_after is not None and status in {429, 503}:
        return f"Wait {retry_after:g} seconds before the next call."
    if status == 429:
        return "Too many calls were made; wait before the next one."
    if status in {401, 403}:
        if not variables:
            return "The request was made without a credential."
        named = " and ".join(variables)
        if status == 401:
            return f"Whoever runs this server can check the credential in {named}."
        return f"The credential in {named} may not do this."
    if status >= 500:
        return "The fault is in the API; the same call may work later."
    return _NEXT_STEPS.get(status, "")

"""Decoding of responses to values for handlers, and error texts that a model can act on."""

from __future__ import annotations

from typing import Any

import msgspec

from mcpgen.runtime.media import Media
from mcpgen.runtime.upstream.errors import (
    MalformedResponseError,
    ResponseTooLargeError,
    UpstreamStatusError,
)
from mcpgen.runtime.upstream.http.messages import HttpResponse, is_stream
from mcpgen.runtime.upstream.request.parameters import find_charset
from mcpgen.runtime.upstream.response.json_decoding import (
    LONG_BYTES,
    TooComplexError,
    check_size,
    decode_json,
)
from mcpgen.runtime.upstream.response.redaction import Redactor
from mcpgen.runtime.upstream.response.streams import parse_stream
from mcpgen.text.media_types import TEXTUAL, decode_text, essence_of, find_codec, is_json

_TEXT_TYPES = TEXTUAL | {"application/csv", "application/x-www-form-urlencoded"}
_BEGINNING_BYTES = 16 * 1024  # of a response that is quoted in an error


def _parse_media_type(response: HttpResponse) -> str:
    """Return the media type without parameters, in lower case; "" if there is none."""
    return essence_of(response.header("Content-Type"))


def decode_response(response: HttpResponse, accept: tuple[str, ...], redactor: Redactor) -> Any:
    """Decode a successful response: JSON, text, `Media`, or None if it is empty.

    A stream of events or lines becomes a list, as far as it was read. `accept` contains the media
    types that the operation declares; others are rejected, except for JSON under another media
    type. Text in an unsupported charset (`charsets`) becomes `Media` with a note.

    Raises:
        MalformedResponseError: the body does not match its media type, or is not accepted.
        ResponseTooLargeError: it has too many values or levels.
    """
    if not response.body or response.status in {204, 205}:
        return None
    try:
        return _decode(response, accept, redactor)
    except TooComplexError as excess:
        raise ResponseTooLargeError(
            f"answered {response.status} with {excess}. Request less: a smaller page, fewer fields"
            " or a filter."
        ) from None


def _decode(response: HttpResponse, accept: tuple[str, ...], redactor: Redactor) -> Any:
    media_type = _parse_media_type(response)
    if is_json(media_type):
        return _decode_json_body(response, redactor)
    if is_stream(media_type) and _is_accepted(media_type, accept):
        check_size(response.body)
        text = decode_text(response.body, _find_codec(response) or "utf-8")
        return parse_stream(media_type, text, is_cut_off=response.is_cut_off)
    if not media_type or (not _is_accepted(media_type, accept) and _looks_like_json(response)):
        return _guess_value(response)
    if not _is_accepted(media_type, accept):
        excerpt = redactor.excerpt(_decode_beginning(response))
        shown = "" if is_binary(media_type) else f" It begins: {excerpt}"
        expected = " or ".join(f"`{entry}`" for entry in accept)
        raise MalformedResponseError(
            f"answered {response.status} with `{media_type}`, but {expected} was expected.{shown}"
        )
    if is_binary(media_type):
        return Media(response.body, media_type)
    codec = _find_codec(response)
    if not codec:
        return Media(response.body, media_type, "It is text in an unsupported charset.")
    return decode_text(response.body, codec)


def _is_accepted(media_type: str, accept: tuple[str, ...]) -> bool:
    if not accept:
        return True
    for pattern in map(essence_of, accept):
        if pattern in {"*/*", media_type}:
            return True
        if pattern.endswith("/*") and media_type.startswith(pattern[:-1]):
            return True
    return False


def is_binary(media_type: str) -> bool:
    """Return whether a response of a media type is neither text nor JSON."""
    is_text = (
        media_type.startswith("text/")
        or media_type.endswith(("+xml", "+yaml"))
        or media_type in _TEXT_TYPES
        or is_json(media_type)
    )
    return not is_text or media_type == "image/svg+xml"


def _looks_like_json(response: HttpResponse) -> bool:
    has_bracket = response.body[:_BEGINNING_BYTES].lstrip()[:1] in {b"{", b"["}
    return has_bracket and _try_json(response.body) is not None


def _try_json(body: bytes) -> Any:
    try:
        return decode_json(body.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return None


def _guess_value(response: HttpResponse) -> Any:
    """Decode a response without a usable media type."""
    decoded = _try_json(response.body)
    if decoded is not None:
        return decoded
    try:
        return response.body.decode()
    except UnicodeDecodeError:
        return Media(response.body, "application/octet-stream")


def _decode_json_body(response: HttpResponse, redactor: Redactor) -> Any:
    body = response.body.removeprefix(b"\xef\xbb\xbf")
    if not body.strip():
        return None
    try:
        return decode_json(body)
    except RecursionError:
        raise MalformedResponseError(
            f"answered {response.status} with JSON that is nested too deeply to be read"
        ) from None
    except ValueError:
        excerpt = redactor.excerpt(_decode_beginning(response), 300)
        raise MalformedResponseError(
            f"answered {response.status} with invalid JSON. It begins: {excerpt}"
        ) from None


def _find_codec(response: HttpResponse) -> str:
    return find_codec(find_charset(response.header("Content-Type")))


def _decode_beginning(response: HttpResponse) -> str:
    return decode_text(response.body[:_BEGINNING_BYTES], _find_codec(response) or "utf-8")


# Errors

_NEXT_STEPS = {
    400: "Change the arguments as it says, then call again.",
    404: "Check the identifiers; a tool that lists or searches may return the right ones.",
    405: "Another tool may serve this purpose.",
    409: "Read the current state first, then decide what to change.",
    410: "It was removed permanently; look for its replacement.",
    412: "Read the current state first, then repeat the change.",
    413: "Send less data per call.",
    422: "Change the arguments as it says, then call again.",
    423: "It is locked; try again later.",
}


def make_status_error(
    response: HttpResponse,
    redactor: Redactor,
    *,
    retry_after: float | None,
    credential_variables: tuple[str, ...],
    advice: str = "",
) -> UpstreamStatusError:
    """Return the error for a response with an error status, with a suggested next step.

    `advice` replaces the step for the statuses 401 and 403.
    """
    status = response.status
    problem = _decode_problem(response)
    reason = _describe_reason(response, problem, redactor)
    phrase = _find_phrase(status)
    message = f"answered {status}{phrase}{': ' + reason if reason else '.'}"
    step = advice or _suggest_next_step(status, retry_after, credential_variables)
    if not message.endswith((".", "!", "?", "…")):
        message += "."
    return UpstreamStatusError(
        f"{message} {step}".rstrip(),
        status=status,
        problem=problem,
        retry_after_seconds=retry_after,
        headers=response.headers,
    )


def _find_phrase(status: int) -> str:
    """Return " Not Found" for 404, and "" for an unknown status."""
    from http import HTTPStatus  # only errors need it

    return f" {HTTPStatus(status).phrase}" if status in HTTPStatus._value2member_map_ else ""


def _decode_problem(response: HttpResponse) -> dict[str, Any] | None:
    media_type = _parse_media_type(response)
    if len(response.body) > LONG_BYTES:
        return None  # an excerpt is shown instead
    if not is_json(media_type) and not _looks_like_json(response):
        return None
    decoded = _try_json(response.body)
    return decoded if isinstance(decoded, dict) else None


def _describe_reason(
    response: HttpResponse, problem: dict[str, Any] | None, redactor: Redactor
) -> str:
    """Return the API's reason: title and detail (RFC 9457), else an excerpt of the body."""
    if 300 <= response.status < 400:
        return "redirects are not followed"
    if problem is not None:
        title, detail = problem.get("title"), problem.get("detail")
        texts = [text.rstrip(".") for text in (title, detail) if isinstance(text, str) and text]
        standard = {"title", "detail", "status", "type", "instance"}
        extra = {key: value for key, value in problem.items() if key not in standard}
        if texts and extra:
            texts.append(msgspec.json.encode(extra).decode())
        if texts:
            return redactor.excerpt(". ".join(texts))
    media_type = _parse_media_type(response) or "text/plain"
    is_page = media_type in {"text/html", "application/xhtml+xml"}  # it only repeats the status
    if not response.body or is_page or is_binary(media_type):
        return ""
    return redactor.excerpt(_decode_beginning(response))


def _suggest_next_step(status: int, retry_after: float | None, variables: tuple[str, ...]) -> str:
    if retry_after is not None and status in {429, 503}:
        return f"Wait {retry_after:g} seconds before the next call."
    if status == 429:
        return "Too many calls; wait before the next one."
    if status in {401, 403}:
        if not variables:
            return "The request was sent without a credential."
        named = " and ".join(variables)
        if status == 401:
            return f"The operator of this server can check the credential in {named}."
        return f"The credential in {named} does not permit this."
    if status >= 500:
        return "The error is in the API; the same call may succeed later."
    return _NEXT_STEPS.get(status, "")

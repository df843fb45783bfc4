"""What a provider's reply means: limited, refused for good, wrong, failing; and its token counts."""

import json

import pytest

from tickmind.gateway.http.outcomes import error_in_reply, outcome_of_error, tokens_of, tokens_of_stream
from tickmind.gateway.queue.job import Result

NOW_S = 1_700_000_000.0


def error(code: str = "", message: str = "", kind: str = "") -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "type": kind}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "result"),
    [
        (429, b"", Result.RATE_LIMITED),
        (429, error("rate_limit_exceeded", "Rate limit reached"), Result.RATE_LIMITED),
        (529, error(kind="overloaded_error"), Result.RATE_LIMITED),
        (400, error("rate_limit_exceeded"), Result.RATE_LIMITED),
        (429, error("insufficient_quota", "You exceeded your current quota"), Result.ACCOUNT),
        (429, error("", "Your account has been suspended"), Result.ACCOUNT),
        (429, error(kind="insufficient_quota"), Result.ACCOUNT),
        (401, error("invalid_api_key"), Result.ACCOUNT),
        (401, b"", Result.ACCOUNT),
        (401, error(kind="key_model_access_denied", message="key not allowed to access model"), Result.REJECTED),
        (401, error("401", "This key may not access the model gpt-5"), Result.REJECTED),
        (402, error("insufficient_balance"), Result.ACCOUNT),
        (402, error("", "Insufficient credits. Add more using https://credits.test"), Result.ACCOUNT),
        (402, b'{"error":{"code":402,"message":"Insufficient Balance"}}', Result.ACCOUNT),
        (
            402,
            error("", "It requires more credits, or fewer max_tokens. You can only afford 5"),
            Result.DECLINED,
        ),
        (402, b"", Result.DECLINED),
        (
            413,
            error("rate_limit_exceeded", "Request too large: Limit 6000, Requested 7000"),
            Result.DECLINED,
        ),
        (413, b"", Result.DECLINED),
        (
            429,
            error("rate_limit_exceeded", "On TPM: Limit 30,000, Requested 54,000."),
            Result.DECLINED,
        ),
        (
            429,
            error("rate_limit_exceeded", "Limit 6000, Used 5800, Requested 500. Wait 3s"),
            Result.RATE_LIMITED,
        ),
        (429, error("", "The input or output tokens must be reduced in order to run"), Result.DECLINED),
        (403, b"<html>no</html>", Result.DECLINED),
        (403, b"", Result.DECLINED),
        (403, b'{"error":{}}', Result.DECLINED),
        (403, error("permission_denied", "No access to the model m"), Result.REJECTED),
        (403, error("account_deactivated", "Gone"), Result.ACCOUNT),
        (403, error("unsupported_country_region_territory", "Not here"), Result.ACCOUNT),
        (403, error("", "This organization has been banned"), Result.ACCOUNT),
        (403, b'{"error":{"code":403,"message":"No such project","status":"PERMISSION_DENIED"}}', Result.ACCOUNT),
        (403, error("model_not_found", "Project `p` does not have access to model `m`"), Result.REJECTED),
        (403, error("", "The prompt was flagged by moderation"), Result.REJECTED),
        (403, b'{"type":"error","error":{"type":"permission_error","message":"Not this model"}}', Result.REJECTED),
        (400, error("bad_request", "messages is wrong"), Result.REJECTED),
        (404, error("model_not_found"), Result.REJECTED),
        (500, b"", Result.FAILED),
        (503, error("", "rate limit of the sun exceeded"), Result.FAILED),
        (302, b"", Result.BROKEN),
        (101, b"", Result.BROKEN),
        (206, b"", Result.BROKEN),
    ],
)
def test_a_status_and_its_body_say_what_to_do(status: int, body: bytes, result: Result) -> None:
    assert outcome_of_error(status, {}, body, now_wall_s=NOW_S).result is result


@pytest.mark.parametrize(
    ("status", "message", "result"),
    [
        (403, "The model `account has been banned` is not for you", Result.REJECTED),
        (402, "insufficient credits for the model `insufficient credits`", Result.DECLINED),
        (429, "`account has been banned` has met its limit", Result.RATE_LIMITED),
        (429, "slow down with `request too large`", Result.RATE_LIMITED),
    ],
)
def test_what_an_error_repeats_of_the_request_closes_nothing(status: int, message: str, result: Result) -> None:
    request = message.encode().replace(b"`", b'"')
    assert outcome_of_error(status, {}, error("", message), now_wall_s=NOW_S, request=request).result is result


@pytest.mark.parametrize(
    ("document", "result", "status"),
    [
        ({"error": {"code": 429, "message": "slow down"}, "choices": [{}]}, Result.RATE_LIMITED, 429),
        ({"error": {"code": "rate_limit_exceeded"}}, Result.RATE_LIMITED, 429),
        ({"error": {"code": 502, "message": "the model is away"}, "choices": [{}]}, Result.FAILED, 502),
        ({"error": {"code": "server_error", "message": "boom"}}, Result.FAILED, 502),
        ({"error": {"code": 400, "message": "wrong"}}, Result.REJECTED, 400),
        ({"error": {"code": True, "message": "odd"}}, Result.FAILED, 502),
    ],
)
def test_an_error_in_a_reply_with_status_200_is_one(document: dict[str, object], result: Result, status: int) -> None:
    outcome = error_in_reply(document, json.dumps(document).encode(), b"")
    assert outcome is not None
    assert (outcome.result, outcome.status) == (result, status)


@pytest.mark.parametrize("document", [{}, [], None, {"error": None}, {"error": {}}, {"error": "x", "choices": []}])
def test_a_reply_without_an_error_object_tells_none(document: object) -> None:
    assert error_in_reply(document, b"", b"") is None


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"x-ratelimit-reset": "12"}, 12.0),
        ({"x-ratelimit-reset": str(int((NOW_S + 9) * 1000)), "x-ratelimit-remaining": "0"}, 9.0),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "5"}, None),
        ({"x-ratelimit-reset-tokens": "1.5s", "x-ratelimit-remaining-tokens": "0"}, 1.5),
        ({"x-ratelimit-reset": "12", "retry-after": "3"}, 3.0),
        ({"x-ratelimit-reset": "soon"}, None),
    ],
)
def test_a_refusal_without_retry_after_asks_to_wait_by_its_reset(headers: dict[str, str], wait_s: float | None) -> None:
    outcome = outcome_of_error(429, headers, b"", now_wall_s=NOW_S)
    assert outcome.retry_after_s == pytest.approx(wait_s)


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [("7", 7.0), ("0.5", 0.5), ("Tue, 14 Nov 2023 22:13:30 GMT", 10.0), ("soon", None), ("nan", None), ("-3", None)],
)
def test_retry_after_is_read_in_seconds_and_dates_and_garbage_is_nothing(value: str, wait_s: float | None) -> None:
    outcome = outcome_of_error(429, {"retry-after": value}, b"", now_wall_s=NOW_S)
    assert outcome.retry_after_s == wait_s


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"x"', b'{"error":5}', b'{"error":{"code":{}}}', b"\xff\xfe"])
def test_an_error_of_any_shape_is_read(body: bytes) -> None:
    assert outcome_of_error(500, {}, body, now_wall_s=NOW_S).result is Result.FAILED


def test_tokens_are_read_in_both_forms_and_odd_ones_are_nothing() -> None:
    assert tokens_of({"usage": {"prompt_tokens": 3, "completion_tokens": 4}}) == (3, 4)
    assert tokens_of({"usage": {"input_tokens": 3, "output_tokens": 4}}) == (3, 4)
    odd: object
    for odd in (None, [], {}, {"usage": 3}, {"usage": {"prompt_tokens": -1, "completion_tokens": True}}):
        assert tokens_of(odd) == (None, None)


def test_tokens_of_a_stream_are_in_its_last_events() -> None:
    counts = b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n'
    chat = b'data: {"choices":[]}\n\n' + counts + b"data: [DONE]\n\n"
    assert tokens_of_stream(chat) == (5, 6)
    responses = b'event: x\ndata: {"response":{"usage":{"input_tokens":1,"output_tokens":2}}}\n\n'
    assert tokens_of_stream(responses) == (1, 2)
    assert tokens_of_stream(b'data: {"usage":null}\n\ndata: {"usage":') == (None, None)


def test_tokens_are_read_from_a_last_event_whose_beginning_is_not_there() -> None:
    end = b'},"usage": {"input_tokens":1,"output_tokens":2},"user":null}}\n\n'
    assert tokens_of_stream(b'said \\"usage\\":{}' + end) == (1, 2)
    said = b'said \\"usage\\":{\\"input_tokens\\":1,\\"output_tokens\\":2}"}\n\n'
    for odd in (said, b'x"usage":', b'x"usage":{"input_tokens":1', b'x"usage":7}', b'x"usage":' + b"[" * 4000):
        assert tokens_of_stream(odd) == (None, None)

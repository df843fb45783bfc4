import io
import json
import logging

import pytest

from tickmind.base import Secret, configure_logging, get_logger

CANARY = "canary-0a1b2c3d4e5f"


@pytest.fixture
def stream():
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield io.StringIO()
    root.handlers[:], root.level = before


def test_json_lines_carry_the_fields(stream):
    configure_logging("json", stream=stream)
    get_logger("tickmind.test").info("tick overran", tick=7, late_ms=3.5)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["tick"], line["late_ms"], line["level"]) == ("tick overran", 7, 3.5, "info")
    assert line["logger"] == "tickmind.test"


def test_the_console_form_is_one_readable_line(stream):
    configure_logging("console", stream=stream)
    get_logger("tickmind.test").warning("queue is full", lane="groq")
    assert stream.getvalue().count("\n") == 1
    assert "queue is full" in stream.getvalue()
    assert "lane=groq" in stream.getvalue()


@pytest.mark.parametrize("style", ["console", "json"])
def test_no_secret_gets_through(stream, style):
    configure_logging(style, stream=stream)
    secret = Secret(CANARY)
    get_logger("tickmind.test").info("call", key=secret, note=f"sent {CANARY}", nested={"authorization": CANARY})
    logging.getLogger("other.library").warning("header %s", CANARY)
    logging.getLogger("other.library").warning("extra", extra={"payload": {"api_key": CANARY}})
    try:
        int(CANARY)
    except ValueError:
        logging.getLogger("other.library").exception("failed with %r", secret)
        get_logger("tickmind.test").exception("failed")
    assert CANARY not in stream.getvalue()
    assert stream.getvalue().count("ValueError") >= 2


@pytest.mark.parametrize("style", ["console", "json"])
def test_what_a_stranger_said_does_nothing_to_the_terminal(stream, style):
    configure_logging(style, stream=stream, colours=False)
    said = "no\x1b]0;pwned\x07\x9b2J\r"
    get_logger("tickmind.test").warning("refused", why=said, error=ValueError(said))
    logging.getLogger("other.library").warning("got %s", said)
    try:
        dict[str, int]()[said]
    except KeyError as error:
        error.add_note(said)
        get_logger("tickmind.test").exception("failed")
    shown = stream.getvalue()
    assert shown.count("pwned") >= 4
    assert {letter for letter in shown if not letter.isprintable()} == {"\n"}


def test_debug_is_left_out_unless_asked_for(stream):
    configure_logging("json", stream=stream)
    get_logger("tickmind.test").debug("detail")
    assert stream.getvalue() == ""
    configure_logging("json", stream=stream, level="debug")
    get_logger("tickmind.test").debug("detail")
    assert "detail" in stream.getvalue()


def test_configuring_twice_does_not_double_the_lines(stream):
    configure_logging("json", stream=stream)
    configure_logging("json", stream=stream)
    get_logger("tickmind.test").info("once")
    assert stream.getvalue().count("once") == 1


def test_without_our_set_up_a_line_still_has_its_fields_and_no_secret(stream):
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    Secret(CANARY)
    get_logger("tickmind.test").warning("queue is full", lane="groq", note=f"key {CANARY}")
    assert stream.getvalue() == "queue is full lane='groq' note='key ***'\n"

from tickmind.llm.messages import Image, Message, ToolCall
from tickmind.llm.tokens import CharTokenCounter, estimate_messages_tokens, estimate_tokens, tokens_remaining


class Words:
    def count(self, text: str) -> int:
        return len(text.split())


def test_a_token_is_about_four_characters() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcdefgh", "x" * 400)] == [0, 1, 2, 100]


def test_each_turn_costs_a_little_more_than_its_text() -> None:
    messages = [{"role": "system", "content": "x" * 40}, {"role": "user", "content": "hello!!!"}]
    assert estimate_messages_tokens(messages) == 3 + (4 + 10 + 1) + (4 + 2 + 1)


def test_what_remains_may_be_negative() -> None:
    assert tokens_remaining("x" * 400, 100, 50) == 100 - (3 + 4 + 1 + 100) - 50


def test_an_exact_counter_can_be_given() -> None:
    assert estimate_messages_tokens("one two three", counter=Words()) == 3 + 4 + 1 + 3
    assert CharTokenCounter(2).count("abcd") == 2


def test_pictures_and_tool_calls_are_counted() -> None:
    plain = estimate_messages_tokens([Message.user("hi")])
    assert estimate_messages_tokens([Message.user("hi", images=[Image("https://x/y.png", "low")])]) == plain + 85
    asked = Message.assistant("", tool_calls=[ToolCall("1", "look", '{"at": "door"}')])
    assert estimate_messages_tokens([asked]) > estimate_messages_tokens([Message.assistant("")])

import pytest

from tickmind.llm.http.errors import error_from_reply


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_what_the_endpoint_says_can_be_read(status: int) -> None:
    error = error_from_reply("http://host", status, b'{"error": {"message": "Subscription ended."}}')
    assert f"http://host answered {status}" in str(error)
    assert "Subscription ended." in str(error)

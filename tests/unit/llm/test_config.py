import os
from pathlib import Path
from typing import Any

import pytest

from tickmind.base import Secret
from tickmind.llm.config import (
    CHARACTER,
    GAME_STATE,
    MEMORY_UPDATE,
    NARRATOR,
    SUMMARIZER,
    CallConfig,
    ModelConfig,
    load_model_config,
    merge_config,
)
from tickmind.llm.errors import LLMConfigError

NO_FILE = Path(os.devnull)


def load(env: dict[str, str] | None = None, **more: Any) -> ModelConfig:
    return load_model_config(env=env or {}, dotenv_path=more.pop("dotenv_path", NO_FILE), **more)


def test_temperature_zero_is_a_value() -> None:
    config = ModelConfig(default_temperature=1.0)
    assert merge_config(config, CallConfig(temperature=0.0)).temperature == 0.0
    assert merge_config(ModelConfig(default_temperature=0.0)).temperature == 0.0


def test_what_a_call_leaves_open_comes_from_the_model() -> None:
    effective = merge_config(ModelConfig(default_max_tokens=77, timeout_s=5), CallConfig(timeout_s=1))
    assert (effective.temperature, effective.max_tokens, effective.timeout_s) == (1.0, 77, 1)


def test_each_retry_is_bolder() -> None:
    effective = merge_config(ModelConfig(), CallConfig(temperature=0.0))
    assert effective.temperature_for(1) == 0.0
    assert effective.temperature_for(3) == pytest.approx(0.2)


def test_profiles_leave_room_for_thinking() -> None:
    budgets = [profile.max_tokens for profile in (NARRATOR, CHARACTER, MEMORY_UPDATE, GAME_STATE, SUMMARIZER)]
    assert budgets == [2000, 1500, 1500, 800, 1000]


def test_arguments_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("LLM_MODEL=from-file\nLLM_API_KEY=key-from-file\nLLM_BASE_URL=https://file.example/v1\n")
    env = {"LLM_MODEL": "from-env", "LLM_API_KEY": "key-from-env"}
    config = load(env, model="from-argument", dotenv_path=file)
    assert (config.model, config.api_key.reveal(), config.base_url) == (
        "from-argument", "key-from-env", "https://file.example/v1",
    )  # fmt: skip


def test_the_nearest_dotenv_is_read_without_changing_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("LLM_API_KEY=only-in-the-file\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    before = dict(os.environ)
    assert load_model_config(env={}).api_key.reveal() == "only-in-the-file"
    assert dict(os.environ) == before


def test_the_missing_key_is_named_in_plain_words() -> None:
    with pytest.raises(LLMConfigError, match=r"no API key for api\.openai\.com: set LLM_API_KEY \(or OPENAI_API_KEY\)"):
        load({"LLM_API_KEY": "  "})


def test_a_provider_key_stands_in_at_its_own_address() -> None:
    assert load({"OPENAI_API_KEY": "sk-of-openai"}).api_key.reveal() == "sk-of-openai"


def test_a_provider_key_is_not_sent_elsewhere() -> None:
    with pytest.raises(LLMConfigError, match=r"no API key for other\.example"):
        load({"OPENAI_API_KEY": "sk-of-openai", "LLM_BASE_URL": "https://other.example/v1"})


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/v1", "http://localhost:11434/v1", "http://[::1]:1/v1"])
def test_a_loopback_endpoint_needs_no_key(url: str) -> None:
    assert not load(base_url=url).api_key


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "api.openai.com/v1",
        "https://",
        "https://key@host/v1",
        "http://api.groq.com@127.0.0.1/",
        "https://host:99999/v1",
        "https://host/v1?key=1",
        "https://ho st/v1",
        "https://host/v1\r\nX: y",
        "http://[::1/v1",
    ],
)
def test_an_address_that_is_not_plain_http_is_refused(url: str) -> None:
    with pytest.raises(LLMConfigError, match="base URL"):
        ModelConfig(base_url=url)


def test_a_key_written_as_text_is_kept_secret() -> None:
    config = ModelConfig(api_key="canary-1234567890")  # type: ignore[arg-type]  # what people write
    assert config.api_key == Secret("canary-1234567890")
    assert "canary" not in repr(config)


def test_a_key_with_a_line_break_is_refused_without_showing_it() -> None:
    with pytest.raises(LLMConfigError) as caught:
        ModelConfig(api_key=Secret("canary-123\r\nX-Evil: 1"))
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"default_temperature": -1.0},
        {"default_temperature": float("nan")},
        {"timeout_s": 0},
        {"default_max_tokens": 0},
        {"api": "grpc"},
        {"model": ""},
        {"headers": {"X": "a\nb"}},
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(LLMConfigError):
        ModelConfig(**settings)


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(LLMConfigError, match="unknown setting"):
        load(base_url="http://127.0.0.1/v1", colour="red")


def test_anthropic_has_its_own_default_address() -> None:
    config = load({"ANTHROPIC_API_KEY": "sk-ant-xyz"}, api="anthropic")
    assert config.base_url == "https://api.anthropic.com/v1"


def test_extra_headers_may_hold_a_key_and_are_not_shown() -> None:
    assert "canary" not in repr(ModelConfig(headers={"X-Gateway-Key": "canary-0123456789"}))

"""The form of the gateway's settings: its JSON schema, and how keys are given."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from tickmind.base.problems import FileForm

HOW_TO_GIVE_KEYS = (
    "don't write keys into the file: set an environment variable and write `key_env: ITS_NAME`, "
    "or put the key into a file of its own (chmod 600) and write `key_file: PATH`"
)


def schema_text() -> str:
    """Return the text of the file's JSON schema."""
    return files("tickmind.gateway.settings").joinpath("gateway.schema.json").read_text(encoding="utf-8")


@cache
def config_schema() -> Mapping[str, Any]:
    """Return the file's JSON schema; editors can use it, too."""
    schema: Mapping[str, Any] = json.loads(schema_text())
    return schema


@cache
def config_form() -> FileForm:
    """Return the form that the gateway's file is checked against."""
    return FileForm(
        config_schema(),
        HOW_TO_GIVE_KEYS,
        secret_parts=("keys", "headers", "redis_url", "key_id_secret", "callers"),
        key_parts=("key", "key_id_secret"),
    )

"""What the page states again is what Python says: codes are generated, words and forms written by hand are compared."""

import re
import subprocess
import sys
from pathlib import Path

from tickmind.protocol import ACTION_TYPES, REASONS
from tickmind.wire.v1 import action_pb2

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "viewer" / "src"


def source(name):
    return (PAGE / name).read_text(encoding="utf-8")


def keys_of(name, table):
    (body,) = re.findall(rf"^const {table}: Record<.*?> = \{{$(.*?)^\}};$", source(name), re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^  (\w+): ", body, re.MULTILINE))


def test_the_codes_of_the_page_are_those_of_python(tmp_path):
    made = tmp_path / "codes.ts"
    subprocess.run([sys.executable, ROOT / "proto" / "page_codes.py", made], check=True, timeout=120)
    assert made.read_text(encoding="utf-8") == source("codes.ts"), "run make proto"


def test_the_page_has_words_for_actions_and_reasons_that_exist():
    assert keys_of("words.ts", "VERBS") | {"Move"} == {str(action) for action in ACTION_TYPES}
    reasons = {str(reason) for reason in REASONS}
    assert keys_of("words.ts", "REASONS") - reasons == set()
    assert keys_of("play/menu.ts", "WHY") - reasons == set()


def test_the_page_writes_intents_in_the_form_of_the_schema():
    text = source("play/menu.ts") + source("play/frames.ts")
    forms = re.findall(r"(?:intent: |return |Intent => \()\{ (\w+|\[verb\]): \{([^}]*)\}?", text)
    members = {
        field.json_name: field.message_type for field in action_pb2.Intent.DESCRIPTOR.fields if field.message_type
    }
    written = {}
    for member, body in forms:
        fields = set(re.findall(r"(?:^|[,{])\s*(\w+)(?=\s*(?::|,|$))", body))
        for name in ("buy", "sell") if member == "[verb]" else (member,):
            written[name] = fields
            assert fields <= {field.json_name for field in members[name].fields}, name
    assert written.keys() == members.keys()

"""The TypeScript client: its types are those of the schema, and its own tests pass with messages that Python wrote."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from tests.kits.wire_samples import Samples

from tickmind.wire.codec import encode_down
from tickmind.wire.v1 import door_pb2 as pb

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "clients" / "typescript"
WIDE = {FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def whole(message: Message):
    """A message with all of its fields, as the client reads it: 64-bit numbers are numbers."""
    form = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)

    def read(descriptor, value):
        for field in descriptor.fields:
            given = value.get(field.json_name)
            if given is None:
                continue
            if field.message_type is not None:
                for each in given if field.is_repeated else [given]:
                    read(field.message_type, each)
            elif field.cpp_type in WIDE:
                value[field.json_name] = [int(each) for each in given] if field.is_repeated else int(given)

    read(message.DESCRIPTOR, form)
    return form


def vectors():
    samples = Samples(4)
    frames: list[Message] = [pb.SocketResponse(control=encode_down(samples.down())) for _ in range(80)]
    frames += [
        pb.SocketResponse(error=pb.SocketError(code=pb.SOCKET_ERROR_CODE_STALLED, message="slow", ends=True)),
        pb.SocketResponse(),
    ]
    for frame in frames:
        yield {
            "name": frame.DESCRIPTOR.name,
            "json": json_format.MessageToJson(frame, indent=None),
            "short": json_format.MessageToDict(frame),
            "whole": whole(frame),
        }


def test_the_types_are_those_of_the_schema(tmp_path):
    made = tmp_path / "protocol.ts"
    command = [sys.executable, ROOT / "proto" / "generate.py", tmp_path / "v1", made]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert made.read_text() == (CLIENT / "src" / "protocol.ts").read_text(), "run make proto"


@pytest.mark.skipif(
    not (shutil.which("node") and (CLIENT / "dist" / "index.js").exists()),
    reason="the client's tests need node, and `make client` to have built it",
)
def test_the_clients_own_tests_pass_with_messages_of_ours(tmp_path):
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(list(vectors())))
    tests = [str(each) for each in sorted((CLIENT / "test").glob("*.test.mjs"))]
    done = subprocess.run(
        ["node", "--test", "--test-force-exit", *tests],
        env={**os.environ, "CLIENT_VECTORS": str(file)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "# skipped 0" in done.stdout

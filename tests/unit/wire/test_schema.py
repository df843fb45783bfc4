import filecmp
import importlib
import keyword
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tickmind.protocol import ACTION_TYPES, REASONS, AgentState, Direction, LifecycleKind
from tickmind.wire.messages.viewing import ViewerEventType
from tickmind.wire.v1 import action_pb2, entity_pb2, telemetry_pb2, viewer_pb2

ROOT = Path(__file__).parents[3]
PROTO = ROOT / "proto"
FILES = sorted(PROTO.glob("tickmind/v1/*.proto"))
GENERATED = ROOT / "src" / "tickmind" / "wire" / "v1"
SERVICES = {
    "TickService",
    "EntityDiscovery",
    "LeaseService",
    "ObservationService",
    "ActionService",
    "ViewerService",
    "ControlService",
    "RelayService",
    "AgentTelemetry",
    "OperatorService",
}


def test_the_generated_code_is_that_of_the_schema(tmp_path):
    done = subprocess.run(
        [sys.executable, PROTO / "generate.py", tmp_path], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    made = {file.name for file in tmp_path.iterdir()}
    assert made == {file.name for file in GENERATED.iterdir() if file.is_file()}, "run make proto"
    _, changed, failed = filecmp.cmpfiles(tmp_path, GENERATED, made, shallow=False)
    assert (changed, failed) == ([], []), "run make proto"


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="the linter of schemas needs node and npm"
)
def test_buf_finds_nothing_to_complain_of(tmp_path):
    folder = tmp_path / "proto"
    shutil.copytree(PROTO, folder, ignore=shutil.ignore_patterns("node_modules"))
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    env = {**os.environ, "npm_config_cache": str(tmp_path / "cache")}
    subprocess.run(install, cwd=folder, env=env, capture_output=True, check=True, timeout=300)
    buf = folder / "node_modules" / ".bin" / "buf"
    for command in (["lint"], ["format", "--diff", "--exit-code"]):
        done = subprocess.run(
            [buf, *command], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.returncode, done.stdout) == (0, ""), command


def test_the_lock_file_pins_hashes_and_names_no_address():
    lock = (PROTO / "package-lock.json").read_text()
    assert "resolved" not in lock
    assert "://" not in lock
    assert lock.count('"integrity"') == lock.count('"node_modules/')


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_comments_of_the_schema_are_sentences(file):
    blocks = re.findall(r"((?:^ *//.*\n)+)", file.read_text(), re.MULTILINE)
    assert blocks
    for block in blocks:
        text = " ".join(
            line.strip().removeprefix("//").strip() for line in block.splitlines() if "buf:lint" not in line
        )
        assert re.match(r"[A-Z]", text), text
        assert text.endswith("."), text


def descriptors():
    for file in FILES:
        module = importlib.import_module(f"tickmind.wire.v1.{file.stem}_pb2")
        yield from module.DESCRIPTOR.message_types_by_name.values()


def test_no_field_has_a_name_that_is_awkward_in_python():
    for message in descriptors():
        for field in message.fields:
            assert not keyword.iskeyword(field.name), field.full_name
            assert field.name not in {"self", "cls"}, field.full_name


def test_every_secret_field_is_marked_as_one():
    marked = set()
    for message in descriptors():
        for field in message.fields:
            is_secret = field.name in {"lease_id", "previous_lease_id", "token"}
            assert field.GetOptions().debug_redact == is_secret, field.full_name
            marked.add(field.full_name)
    assert "tickmind.v1.ControlOpen.previous_lease_id" in marked


def test_all_services_are_there_and_their_table_names_every_call():
    from tickmind.wire.messages import services

    found: dict[str, Any] = {}
    for file in FILES:
        module = importlib.import_module(f"tickmind.wire.v1.{file.stem}_pb2")
        found |= module.DESCRIPTOR.services_by_name
    assert found.keys() == SERVICES
    for name, service in found.items():
        assert name in services.__doc__
        for method in service.methods:
            assert method.name in services.__doc__


@pytest.mark.parametrize(
    ("enum", "names", "first"),
    [
        (action_pb2.Reason, ["UNSPECIFIED", *(reason.name for reason in REASONS[1:])], 0),
        (action_pb2.ActionType, ["UNSPECIFIED", *(action.name for action in ACTION_TYPES)], 0),
        (action_pb2.Direction, ["UNSPECIFIED", *(direction.name for direction in Direction)], 0),
        (entity_pb2.LifecycleKind, ["UNSPECIFIED", *(kind.name for kind in LifecycleKind)], 0),
        (telemetry_pb2.AgentState, ["UNSPECIFIED", *(state.name for state in AgentState)], 0),
        (viewer_pb2.ViewerEventType, ["UNSPECIFIED", *(kind.name for kind in ViewerEventType)], 0),
    ],
    ids=lambda value: getattr(getattr(value, "DESCRIPTOR", None), "name", ""),
)
def test_enums_of_the_schema_have_the_codes_of_the_protocol(enum, names, first):
    prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enum.DESCRIPTOR.name).upper()
    assert [value.number for value in enum.DESCRIPTOR.values] == list(range(first, len(names)))
    assert [value.name for value in enum.DESCRIPTOR.values] == [f"{prefix}_{name}" for name in names]


def test_grpc_is_imported_in_wire_and_server_only():
    found = {
        file.relative_to(ROOT / "src" / "tickmind").parts[0]
        for file in (ROOT / "src").rglob("*.py")
        if re.search(r"^\s*(?:import|from) grpc\b", file.read_text(), re.MULTILINE)
    }
    assert found <= {"wire", "server"}


def test_the_light_codec_loads_neither_numpy_nor_the_columns():
    code = "import sys, tickmind.wire.codec; print('numpy' in sys.modules, 'tickmind.wire.columns' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["False", "False"]

"""Write the code of the schema; `make proto` calls it.

`python proto/generate.py src/tickmind/wire/v1` writes the Python code. For each further argument it writes what a client
needs to read the JSON form: TypeScript types to a file `.ts`, a table in GDScript to a file `.gd`.
"""

import re
import sys
import tempfile
from importlib import resources
from pathlib import Path

from gdscript import gdscript
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc
from typescript import typescript

HERE = Path(__file__).parent
PACKAGE = "tickmind/v1"
IMPORT = re.compile(r"^from tickmind\.v1 import ", re.MULTILINE)
INIT = '"""The code that `make proto` writes from `proto/tickmind/v1`; do not edit it."""\n'


def generate(target: Path) -> None:
    """Write one module for each file of the schema, with its stubs, and remove those whose file is gone."""
    names = sorted(file.name for file in (HERE / PACKAGE).glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi")]
        _run_protoc(outputs, names)
        made = {file.name: IMPORT.sub("from tickmind.wire.v1 import ", file.read_text()) for file in out.rglob("*.py*")}
    made["__init__.py"] = INIT
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.py*"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (target / name).write_text(text)


def generate_for_client(target: Path) -> None:
    """Write the module of a client in the language that the file's name says."""
    write = {".ts": typescript, ".gd": gdscript}[target.suffix]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "schema"
        names = sorted(file.name for file in (HERE / PACKAGE).glob("*.proto"))
        _run_protoc([f"--descriptor_set_out={out}", "--include_source_info"], names)
        target.write_text(write(FileDescriptorSet.FromString(out.read_bytes())))


def _run_protoc(outputs: list[str], names: list[str]) -> None:
    includes = [f"-I{HERE}", f"-I{resources.files('grpc_tools') / '_proto'}"]
    if protoc.main(["protoc", *includes, *outputs, *(f"{PACKAGE}/{name}" for name in names)]):
        sys.exit("protoc could not read the schema; its message stands above")


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
    for name in sys.argv[2:]:
        generate_for_client(Path(name))

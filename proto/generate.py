"""Write the Python code of the schema: `python proto/generate.py src/tickmind/wire/v1`. `make proto` calls it."""

import re
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).parent
PACKAGE = "tickmind/v1"
IMPORT = re.compile(r"^from tickmind\.v1 import ", re.MULTILINE)
INIT = '"""The code that `make proto` writes from `proto/tickmind/v1`; do not edit it."""\n'


def generate(target: Path) -> None:
    """Write one module for each file of the schema, with its stubs, and remove those whose file is gone."""
    names = sorted(file.name for file in (HERE / PACKAGE).glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
        includes = [f"-I{HERE}", f"-I{resources.files('grpc_tools') / '_proto'}"]
        if protoc.main(["protoc", *includes, *outputs, *(f"{PACKAGE}/{name}" for name in names)]):
            sys.exit("protoc could not read the schema; its message stands above")
        made = {file.name: IMPORT.sub("from tickmind.wire.v1 import ", file.read_text()) for file in out.rglob("*.py*")}
    made = {name: text for name, text in made.items() if not name.endswith("_grpc.py") or "Stub" in text}
    made["__init__.py"] = INIT
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.py*"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (target / name).write_text(text)


if __name__ == "__main__":
    generate(Path(sys.argv[1]))

"""No snippet, command or link in the documents goes untested."""

import importlib.util
import os
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from tickmind.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED_PAGES = sorted({*PAGES, *ROOT.glob("*.md")})
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
SNIPPET_TIMEOUT_S = 300
RUN_CLI = "import sys; from tickmind.cli import main; sys.argv[0] = 'tickmind'; main()"

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,}) *(?P<language>[\w+-]*)[^\n`]*$")
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]: +<?(\S+?)>?$", re.MULTILINE)
INLINE_CODE = re.compile(r"`[^`\n]*`")
TARGET = re.compile(r"^([\w-]+):(?!=)", re.MULTILINE)
TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
NAMED_TEST = re.compile(r"`(test_\w+)`")
ASSIGNMENT = re.compile(r"\w+=.*")
# A command in one of these would not be seen, or a snippet not be run.
MISNAMED = {"": "text", "sh": "console", "bash": "console", "shell": "console", "py": "python", "pycon": "python"}


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read_page(text, page="page.md"):
    """The fenced blocks of a page, without their indentation, and the lines between them."""
    blocks: list[Block] = []
    prose: list[str] = []
    opening: re.Match[str] | None = None
    start, inside = 0, [""]
    for number, line in enumerate(text.splitlines(), start=1):
        match = FENCE.match(line)
        if opening is None:
            if match is None:
                prose.append(line)
            else:
                opening, start, inside = match, number, []
        elif match and match["ticks"].startswith(opening["ticks"]) and not match["language"]:
            blocks.append(Block(page, start, opening["language"], "\n".join([*inside, ""])))
            opening = None
        else:
            inside.append(line.removeprefix(opening["indent"]))
    if opening is not None:
        raise ValueError(f"{page}:{start}: the block is not closed")
    return blocks, prose


def blocks_of(text, page="page.md"):
    return read_page(text, page)[0]


def links_of(text):
    """Where the links of a page lead; what looks like one in code is none."""
    prose = INLINE_CODE.sub("", "\n".join(read_page(text)[1]))
    return ["".join(pair) for pair in LINK.findall(prose)]


def snippets_of(blocks):
    """Each python block with all the code to run for it: a block that `# continues` has the earlier ones before it."""
    before = []
    for block in blocks:
        if block.language == "python":
            before.append(block.text)
            yield block, "\n".join(before) if block.text.lstrip().startswith("# continues") else block.text


def commands_of(block):
    """The commands of a console block. Where lines start with `$`, the others are what the commands print."""
    lines = [line.strip() for line in block.text.replace("\\\n", " ").splitlines()]
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def problem_with(words, makefile, root=ROOT):
    """Why a command in the documents can't be right; empty if it can."""
    while words and ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    match words:
        case ["make", *arguments]:
            targets = set(TARGET.findall(makefile))
            unknown = [word for word in arguments if not ASSIGNMENT.fullmatch(word) and word not in targets]
            return f"the Makefile has no target {unknown[0]!r}" if unknown else ""
        case ["python", "gatherer.py"] | ["pytest", "test_gatherer.py"]:
            return ""  # see test_first_character
        case ["python", "-m", module] if module.startswith("tickmind."):
            return "" if importlib.util.find_spec(module) else f"there is no module {module}"
        case ["python" | "python3" | ".venv/bin/python", script, *_]:
            if not re.fullmatch(r"examples/\d\d_\w+\.py", script):
                return f"{script} is not one of the examples, so nothing runs it"
            return "" if (root / script).is_file() else f"{script} does not exist"
        case ["curl", *_] if any(GATEWAY in word for word in words):
            return ""  # see test_gateway_guide
        case ["go", "build", "-o", _, folder]:
            return "" if (root / folder / "agent.go").is_file() else f"{folder} has no agent"  # see test_conformance
        case ["godot", "--path", folder]:
            return "" if (root / folder / "project.godot").is_file() else f"{folder} is no project of Godot"
        case ["pip", "install", wanted] if wanted.startswith("tickmind"):
            unknown = extras_of(wanted) - set(tomllib.loads(PYPROJECT)["project"]["optional-dependencies"])
            return f"the package has no extra {', '.join(sorted(unknown))}" if unknown else ""
        case ["npx", "@modelcontextprotocol/inspector", *_]:
            return ""  # a client of others, as is the one of test_mcp_character
        case ["tickmind", *_]:
            return ""  # see test_documented_options_are_in_the_help_of_their_command
        case _:
            return f"no test knows {' '.join(words)!r}"


def extras_of(wanted):
    """The extras that `tickmind[one,two]` names."""
    return set(filter(None, wanted.removeprefix("tickmind").strip("[]").split(",")))


def fresh_environment():
    """The environment of a process that uses this checkout, without what only the developer has set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LLM_", "TICKMIND_"))}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}


def name_of(page):
    return str(page.relative_to(ROOT))


BLOCKS = {page: blocks_of(page.read_text(encoding="utf-8"), name_of(page)) for page in PAGES}
GATEWAY = "127.0.0.1:8766"  # what asks there is run by test_gateway_guide, with a gateway
SNIPPETS = [found for blocks in BLOCKS.values() for found in snippets_of(blocks) if GATEWAY not in found[1]]
COMMANDS = [
    (block, words)
    for blocks in BLOCKS.values()
    for block in blocks
    if block.language == "console"
    for words in commands_of(block)
]


def subcommand_of(words):
    """What of a command's words says whose help to look at."""
    if words[0] not in CLI.commands:
        return ()
    if " ".join(words[:2]) in CLI.commands:
        return tuple(words[:2])
    inner = getattr(CLI.commands[words[0]], "commands", {})
    return tuple(words[: 2 if words[1:] and words[1] in inner else 1])


CLI: Any = typer.main.get_command(app)
CLI_COMMANDS = [(block, words[1:]) for block, words in COMMANDS if words[:1] == ["tickmind"]]


@pytest.mark.slow
@pytest.mark.timeout(SNIPPET_TIMEOUT_S)
@pytest.mark.parametrize(("block", "code"), SNIPPETS, ids=[str(block) for block, _ in SNIPPETS])
def test_a_python_snippet_runs(block, code, tmp_path, warm_python):
    script = tmp_path / "snippet.py"
    script.write_text(code, encoding="utf-8")
    empty = tmp_path / "empty"
    empty.mkdir()
    done = warm_python(script, empty)
    assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def test_every_documented_command_is_one_that_is_tested():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    problems = [f"{block}: {problem}" for block, words in COMMANDS if (problem := problem_with(words, makefile))]
    assert problems == []


@pytest.mark.slow
@pytest.mark.parametrize("named", sorted({subcommand_of(words) for _, words in CLI_COMMANDS}))
def test_documented_options_are_in_the_help_of_their_command(named, tmp_path, warm_python):
    script = tmp_path / "help.py"
    script.write_text(f"import sys\nsys.argv[1:] = {[*named, '--help']!r}\n{RUN_CLI}\n", encoding="utf-8")
    done = warm_python(script, tmp_path)
    assert done.returncode == 0, f"{named}\n{done.stderr[-4000:]}"
    for block, words in CLI_COMMANDS:
        if subcommand_of(words) == named:
            for option in [word.split("=")[0] for word in words if word.startswith("--")]:
                assert option in done.stdout, f"{block}: {' '.join(named)} has no {option}"


def test_every_block_says_what_it_is():
    wrong = [
        f"{block}: say ```{MISNAMED[block.language]} instead of ```{block.language}"
        for blocks in BLOCKS.values()
        for block in blocks
        if block.language in MISNAMED
    ]
    assert wrong == []


@pytest.mark.parametrize("page", LINKED_PAGES, ids=name_of)
def test_links_between_documents_lead_to_files(page):
    broken = []
    for link in links_of(page.read_text(encoding="utf-8")):
        target = link.split("#")[0]
        if target and not re.match(r"[a-z][a-z+.-]*:", target) and not (page.parent / target).exists():
            broken.append(target)
    assert broken == []


def test_every_test_that_a_page_names_exists():
    known = {name for file in (ROOT / "tests").rglob("*.py") for name in TEST.findall(file.read_text(encoding="utf-8"))}
    named = {(name_of(page), name) for page in PAGES for name in NAMED_TEST.findall(page.read_text(encoding="utf-8"))}
    assert sorted((page, name) for page, name in named if name not in known) == []


# These tests stand on a small reader of pages; it must see everything.

PAGE = """\
Text with `[code](not-a-link.md)` and [a link](docs/a.md#part), ![a picture](b.png "title").

```python
x = 1
```

1. A list
   ```python
   # continues
   if x:
       print(x)  # [not a link](e.md)
   ```

~~~console
$ make demo ARGS="--ticks 5"  # a remark
the arena
$ python examples/04_arena.py \\
    --ticks 20
~~~

````text
```python
[not a link](c.md)
```
````

[named]: d.md
"""


def test_the_reader_sees_every_block_where_it_begins():
    blocks = blocks_of(PAGE)
    assert [(block.line, block.language) for block in blocks] == [
        (3, "python"),
        (8, "python"),
        (14, "console"),
        (21, "text"),
    ]
    assert blocks[1].text == "# continues\nif x:\n    print(x)  # [not a link](e.md)\n"


def test_a_block_that_continues_has_the_earlier_ones_before_it():
    codes = [code for _, code in snippets_of(blocks_of(PAGE))]
    assert codes == ["x = 1\n", "x = 1\n\n# continues\nif x:\n    print(x)  # [not a link](e.md)\n"]


def test_output_and_remarks_are_not_commands():
    [console] = [block for block in blocks_of(PAGE) if block.language == "console"]
    assert commands_of(console) == [
        ["make", "demo", "ARGS=--ticks 5"],
        ["python", "examples/04_arena.py", "--ticks", "20"],
    ]
    plain = Block("page.md", 1, "console", "make test\n\n# then\nmake demo\n")
    assert commands_of(plain) == [["make", "test"], ["make", "demo"]]


def test_links_are_found_outside_code_only():
    assert links_of(PAGE) == ["docs/a.md#part", "b.png", "d.md"]


def test_a_block_that_is_never_closed_is_an_error():
    with pytest.raises(ValueError, match=r"page\.md:2: the block is not closed"):
        blocks_of("text\n```python\nx = 1\n")


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("make", ""),
        ("make demo", ""),
        ("make bench ONLY=engine", ""),
        ("LLM_MODEL=tiny make demo", ""),
        ("make dmeo", "the Makefile has no target 'dmeo'"),
        ("make READY", "the Makefile has no target 'READY'"),
        ("tickmind demo", ""),
        ("python examples/01_here.py --ticks 5", ""),
        ("python examples/99_gone.py", "examples/99_gone.py does not exist"),
        ("python setup.py", "setup.py is not one of the examples, so nothing runs it"),
        ("python -m http.server", "-m is not one of the examples, so nothing runs it"),
        ("curl -sS http://127.0.0.1:8766/metrics", ""),
        ("curl https://example.com/install", "no test knows 'curl https://example.com/install'"),
        ("pip install tickmind[village,record]", ""),
        ("pip install tickmind[dmeo]", "the package has no extra dmeo"),
        ("pip install others", "no test knows 'pip install others'"),
        ("make demo && rm -rf .", "the Makefile has no target '&&'"),
    ],
)
def test_a_command_that_no_test_knows_is_a_problem(command, problem, tmp_path):
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "01_here.py").touch()
    makefile = "READY := x\ndemo: $(READY) ## Watch\n\t@run\nbench:\n\t@run\n"
    assert problem_with(shlex.split(command), makefile, tmp_path) == problem


@pytest.mark.slow
def test_the_first_snippet_of_the_guide_to_the_record_runs_twice_in_one_folder(tmp_path, warm_python):
    script = tmp_path / "snippet.py"
    script.write_text(next(code for block, code in SNIPPETS if block.page.endswith("record.md")), encoding="utf-8")
    for _ in range(2):
        done = warm_python(script, tmp_path)
        assert done.returncode == 0, done.stderr[-4000:]
    assert len(list((tmp_path / "runs").iterdir())) == 2

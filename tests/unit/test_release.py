"""What a release is made from: notes in the changelog, a clean checkout, and a public CI that tests what is claimed."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from release.prepare import NotReadyError, check_checkout, notes_of, read_version

import tickmind

ROOT = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## Unreleased

## 0.2.0 - 2026-11-18

### Added
- Doors.

## 0.1.0 - 2026-10-01

- First.
"""


def test_the_notes_are_the_section_of_the_version():
    assert notes_of(CHANGELOG, "0.2.0") == "### Added\n- Doors.\n"
    assert notes_of(CHANGELOG, "0.1.0") == "- First.\n"


@pytest.mark.parametrize("version", ["0.3.0", "0.2", "0.2.0rc1", "0x2x0", "Unreleased"])
def test_a_version_without_a_dated_section_is_not_released(version):
    with pytest.raises(NotReadyError, match=r"CHANGELOG\.md has no section"):
        notes_of(CHANGELOG, version)


def test_a_version_with_an_empty_section_is_not_released():
    with pytest.raises(NotReadyError, match=r"nothing under 0\.3\.0"):
        notes_of(CHANGELOG + "\n## 0.3.0 - 2026-12-01\n\n", "0.3.0")


def test_a_changed_checkout_is_not_released():
    with pytest.raises(NotReadyError, match=r"M README\.md"):
        check_checkout("M README.md", [], "0.2.0")


def test_a_version_is_released_once():
    with pytest.raises(NotReadyError, match="tagged already"):
        check_checkout("", ["v0.1.0", "v0.2.0"], "0.2.0")
    check_checkout("", ["v0.1.0"], "0.2.0")


def test_the_citation_names_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == tickmind.__version__ == read_version((ROOT / "pyproject.toml").read_text())


def test_public_ci_tests_each_python_that_the_package_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [match[1] for item in project["classifiers"] if (match := re.fullmatch(r".*Python :: (3\.\d+)", item))]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == named


def test_public_ci_and_commits_run_only_commands_that_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        target = re.fullmatch(r"make ([a-z]+)( PYTHON=python)?", command)
        assert target
        assert re.search(rf"^{target[1]}:", makefile, re.MULTILINE), command
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    folders = re.findall(r"^CODE := (.+)$", makefile, re.MULTILINE)[0].split()
    checked = next(hook["entry"] for hook in hooks if hook["id"] == "mypy")
    assert sorted(checked.split()[1:]) == sorted(folders)

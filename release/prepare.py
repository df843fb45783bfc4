"""Prepares a release: checks what must hold, and writes its notes from the changelog.

`make release` runs it, builds the packages, and checks them. Nothing is uploaded: a person signs the tag and uploads.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTES = Path("dist", "release-notes.md")


class NotReadyError(Exception):
    """A release can't be made from this checkout; the message says what to do."""


def read_version(pyproject: str) -> str:
    """Return the version that `pyproject.toml` declares."""
    version = tomllib.loads(pyproject)["project"]["version"]
    assert isinstance(version, str)
    return version


def notes_of(changelog: str, version: str) -> str:
    """Return the section of the changelog for a version; raise NotReadyError if it is missing or empty."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, body = section.partition("\n")
        if re.fullmatch(rf"\[?{re.escape(version)}\]?( - \d{{4}}-\d{{2}}-\d{{2}})", heading.strip()):
            if not body.strip():
                raise NotReadyError(f"CHANGELOG.md has nothing under {version}; write what changed")
            return body.strip() + "\n"
    raise NotReadyError(
        f'CHANGELOG.md has no section for {version}; rename "## Unreleased" to "## {version} - YYYY-MM-DD", '
        "and commit that"
    )


def check_checkout(changed: str, tags: list[str], version: str) -> None:
    """Raise NotReadyError if the checkout has uncommitted changes or the version is already tagged."""
    if changed:
        raise NotReadyError(f"the checkout has uncommitted changes; commit or remove them first:\n{changed}")
    if f"v{version}" in tags:
        raise NotReadyError(
            f"v{version} is tagged already; raise the version in pyproject.toml and tickmind/__init__.py"
        )


def git(*arguments: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Check the checkout and write the notes; the exit code is 1 if something is not ready."""
    try:
        version = read_version((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        check_checkout(git("status", "--porcelain").strip(), git("tag").split(), version)
        notes = notes_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    except NotReadyError as error:
        print(f"not ready to release: {error}", file=sys.stderr)
        return 1
    (ROOT / NOTES).parent.mkdir(exist_ok=True)
    (ROOT / NOTES).write_text(notes, encoding="utf-8")
    print(f"tickmind {version}: notes in {NOTES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

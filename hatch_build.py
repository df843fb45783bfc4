"""Refuses to build a package without the viewer's page, which is built by Node and is not in git."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("src", "tickmind", "viewer", "page", "index.html")


class PageHook(BuildHookInterface[Any]):
    """Checks each wheel and sdist; an editable installation uses the checkout, where the page may come later."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raise if the page is missing."""
        del build_data
        if version != "editable" and not Path(self.root, PAGE).is_file():
            raise FileNotFoundError(
                f"{PAGE} is missing, so the package would have no viewer; run `make page` first (it needs Node)"
            )

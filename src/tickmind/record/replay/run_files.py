"""Names of the files beside a record from which its run can be lived again."""

from typing import Final

SCENARIO: Final = "scenario.yaml"
AGENTS: Final = "agents.yaml"  # the mapping that the run was started with
KEPT_FROM: Final = "# kept from "  # begins its first line, before the path of the file

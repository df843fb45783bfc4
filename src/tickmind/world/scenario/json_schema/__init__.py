"""The JSON schema of scenario files, for editors. The readers are stricter: they know which names there are."""

from tickmind.world.scenario.json_schema.parts import Schema
from tickmind.world.scenario.json_schema.scenario import DIALECT, scenario_schema

__all__ = ["DIALECT", "Schema", "scenario_schema"]

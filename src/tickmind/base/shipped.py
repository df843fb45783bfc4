"""The scenarios that come with tickmind, by name; light, so that every command may look one up."""

from pathlib import Path

from tickmind.base.errors import ConfigError


def shipped_scenarios() -> dict[str, Path]:
    """Return the files of the scenarios that come with tickmind, from the package or from a checkout."""
    package = Path(__file__).parents[1]
    folders = (package.parents[1] / "scenarios", package / "scenarios")  # the later overrides the earlier
    return {file.stem: file for folder in folders for file in folder.glob("*.yaml")}


def scenario_file(name: str) -> Path:
    """Return a scenario that comes with tickmind; raises `ConfigError` with the names that there are."""
    known = shipped_scenarios()
    if name in known:
        return known[name]
    if not known:
        raise ConfigError("this installation lacks its scenarios; reinstall tickmind")
    raise ConfigError(f"there is no scenario {name!r}; there are {', '.join(sorted(known))}, or give a file")


def find_scenario(given: Path) -> Path:
    """Return a scenario file: the given one, or one that comes with tickmind if only a name is given."""
    if given.exists():
        return given
    if given.suffix or given.name != str(given):
        if given.stem in shipped_scenarios():
            raise ConfigError(f"there is no file {given}; for the scenario that comes with tickmind write {given.stem}")
        return given
    return scenario_file(given.name)

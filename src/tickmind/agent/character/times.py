"""`TimedCharacter`: conditions of the clock and the calendar of the world."""

from tickmind.agent.character.base import BaseCharacter
from tickmind.agent.character.tactics import condition


class TimedCharacter(BaseCharacter):
    """A character whose tree goes by time of the day, season, weather and festivals."""

    @condition
    def between(self, start: str, end: str) -> bool:
        """Return whether it is between two times of the day, such as `21:00` and `06:00`; the second is not in it."""
        return self.time.is_between(start, end)

    @condition
    def at_night(self) -> bool:
        """Return whether it is night, in a world that says when that is."""
        return self.time.night

    @condition
    def in_season(self, season: str) -> bool:
        """Return whether it is that season."""
        return self.time.season == season

    @condition
    def in_weather(self, weather: str) -> bool:
        """Return whether the weather of the day is that."""
        return self.time.weather == weather

    @condition
    def festival(self, name: str = "") -> bool:
        """Return whether a festival is on: the one of that name, or any."""
        return any(name in ("", festival.name) for festival in self.time.festivals)

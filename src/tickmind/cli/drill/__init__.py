"""The outage drill: causes failures on a timetable, and counts the consequences."""

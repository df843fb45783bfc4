"""The outage drill: what can go wrong is made to go wrong on a timetable, and then it is counted what came of it."""

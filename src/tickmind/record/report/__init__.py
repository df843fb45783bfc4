"""The report of a run: its figures, queried from the finished files, and one page that shows them.

figures = read_figures(Path("runs") / run_id)
html = page(figures)
"""

from tickmind.record.report.beside import OtherRun
from tickmind.record.report.figures import (
    ActionFigures,
    AverageNeeds,
    CallMoment,
    Conversation,
    ConversationLine,
    FailureFigures,
    HeatMap,
    ItemFigures,
    ModelFigures,
    Outage,
    PersonFigures,
    PresenceFigures,
    RunFigures,
    StayFigures,
    ZoneFigures,
)
from tickmind.record.report.noted import note_outages
from tickmind.record.report.page import page, where_and_when
from tickmind.record.report.reading import read_figures
from tickmind.record.report.shares import listed_shares, percent

__all__ = [
    "ActionFigures",
    "AverageNeeds",
    "CallMoment",
    "Conversation",
    "ConversationLine",
    "FailureFigures",
    "HeatMap",
    "ItemFigures",
    "ModelFigures",
    "OtherRun",
    "Outage",
    "PersonFigures",
    "PresenceFigures",
    "RunFigures",
    "StayFigures",
    "ZoneFigures",
    "listed_shares",
    "note_outages",
    "page",
    "percent",
    "read_figures",
    "where_and_when",
]

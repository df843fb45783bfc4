"""Measures of minds from a record alone: how they talk, plan, keep promises, learn from each other and live."""

from tickmind.record.measures.material import MindMaterial, read_material
from tickmind.record.measures.mind_measures import Measure, measure, measure_names, pooled
from tickmind.record.measures.page import SHOWN_RUNS, measures_page

__all__ = [
    "SHOWN_RUNS",
    "Measure",
    "MindMaterial",
    "measure",
    "measure_names",
    "measures_page",
    "pooled",
    "read_material",
]

"""Measures of minds from a record alone: how they talk, plan, keep promises, learn from each other and live."""

from tickmind.record.measures.material import MindMaterial, read_material
from tickmind.record.measures.mind_measures import Measure, measure, pooled

__all__ = ["Measure", "MindMaterial", "measure", "pooled", "read_material"]

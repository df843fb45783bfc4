"""Statistics of experiments: intervals, effect sizes, permutation tests, components of variance, and power.

The unit of analysis is a run. All chance comes from a generator that the caller seeds, so results repeat.
"""

from tickmind.lab.statistics.bootstrap import BootstrapInterval, bootstrap_bands, bootstrap_interval
from tickmind.lab.statistics.effects import cliffs_delta, cohens_d, paired_d
from tickmind.lab.statistics.permutation import holm, paired_permutation_p
from tickmind.lab.statistics.power import paired_power, seeds_needed
from tickmind.lab.statistics.variance import VarianceParts, variance_parts

__all__ = [
    "BootstrapInterval",
    "VarianceParts",
    "bootstrap_bands",
    "bootstrap_interval",
    "cliffs_delta",
    "cohens_d",
    "holm",
    "paired_d",
    "paired_permutation_p",
    "paired_power",
    "seeds_needed",
    "variance_parts",
]

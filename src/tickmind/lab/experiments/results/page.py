"""The results of an experiment as one self-contained page: no script, no font, no network."""

from html import escape
from typing import Final

from tickmind.lab.experiments.results.analysis import ConditionSummary, Contrast, ExperimentAnalysis, MeasureAnalysis
from tickmind.lab.experiments.results.methods import methods, versions
from tickmind.lab.experiments.results.plots import bands, differences, distributions, signed
from tickmind.record.pages.html import contents, document, section, table

SHOWN_ERRORS: Final = 40


def experiment_page(analysis: ExperimentAnalysis) -> str:
    """Return the whole page."""
    experiment, result = analysis.result.experiment, analysis.result
    done = f"{len(result.outcomes):,} of {experiment.trials:,} trials"
    whole = "" if result.is_whole else " The experiment is not finished: what follows is of the trials that are there."
    parts = [
        f"<h1>{escape(experiment.name)}</h1>",
        f'<p class="sub">{escape(experiment.scenario.stem)}, {experiment.ticks:,} ticks, {done}.{whole}</p>',
        contents([*(measure.name for measure in analysis.measures), "Methods", "To repeat it"]),
        *(section(measure.name, _measure(measure)) for measure in analysis.measures),
        section("Methods", f"<p>{escape(methods(analysis))}</p>"),
        *_failures(analysis),
        section("To repeat it", _to_repeat(analysis)),
    ]
    return document(experiment.name, "".join(parts))


def _measure(measure: MeasureAnalysis) -> str:
    parts = [
        bands(measure.bands, label=f"{measure.name} over time"),
        distributions(measure.summaries, label=f"{measure.name} of each run"),
        table(("condition", "seeds", "mean", "95 %", "deviation"), map(summary_row, measure.summaries), numbers=4),
    ]
    if any(summary.variance is not None and summary.variance.replies is not None for summary in measure.summaries):
        rows = [
            (summary.condition, shown(summary.variance.seeds), shown(summary.variance.replies))
            for summary in measure.summaries
            if summary.variance is not None
        ]
        parts.append(table(("condition", "variance between seeds", "between replies"), rows, numbers=2))
    if measure.contrasts:
        heading = f"<h3>Difference from {escape(measure.contrasts[0].baseline)}</h3>"
        parts += [heading, differences(measure.contrasts, label=f"{measure.name}: differences")]
        names = ("condition", "pairs", "difference", "95 %", "d", "d of pairs", "Cliff's delta", "p", "p (Holm)")
        parts.append(table(names, map(contrast_row, measure.contrasts), numbers=8))
    return "".join(parts)


def summary_row(summary: ConditionSummary) -> tuple[str, ...]:
    """Return a condition's line of a table."""
    interval = "-" if summary.interval is None else f"{shown(summary.interval.low)} to {shown(summary.interval.high)}"
    return summary.condition, f"{len(summary.by_seed):,}", shown(summary.mean), interval, shown(summary.deviation)


def contrast_row(contrast: Contrast) -> tuple[str, ...]:
    """Return a comparison's line of a table."""
    interval = (
        "-" if contrast.interval is None else f"{shown(contrast.interval.low)} to {shown(contrast.interval.high)}"
    )
    effects = (contrast.cohens_d, contrast.paired_d, contrast.cliffs_delta)
    return (
        *(contrast.condition, f"{contrast.pairs:,}", shown(contrast.difference), interval),
        *map(shown, effects),
        *map(shown_p, (contrast.p, contrast.p_holm)),
    )


def shown(value: float | None) -> str:
    """Return a number as it is printed; a dash for none."""
    return "-" if value is None else signed(value)


def shown_p(p: float | None) -> str:
    """Return a p-value as it is printed."""
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _failures(analysis: ExperimentAnalysis) -> list[str]:
    rows = [*analysis.result.problems.items(), *analysis.errors]
    if not rows:
        return []
    more = f"<p>and {len(rows) - SHOWN_ERRORS:,} more</p>" if len(rows) > SHOWN_ERRORS else ""
    return [section("What failed", table(("trial", "why"), rows[:SHOWN_ERRORS], numbers=0) + more)]


def _to_repeat(analysis: ExperimentAnalysis) -> str:
    experiment = analysis.result.experiment
    facts = [
        *((f"version of {name}", version) for name, version in versions().items()),
        ("digest of the code", analysis.result.code),
        ("seeds", ", ".join(map(str, experiment.seeds))),
        ("repeats of each seed", str(experiment.repeats)),
        ("scenario", experiment.scenario.name),
    ]
    # A pilot has fewer seeds and other ticks than its file says.
    command = f"tickmind experiment {experiment.file.name} --seeds {len(experiment.seeds)} --ticks {experiment.ticks}"
    return (
        table(("what", "which"), facts, numbers=0)
        + f"<p>Run <code>{escape(command)}</code> with this file:</p><pre>{escape(experiment.text)}</pre>"
    )

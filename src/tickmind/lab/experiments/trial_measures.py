"""`TrialMeasures`: the measures of one finished run. One that fails costs its own value, and says why by its line."""

import importlib
import importlib.util
import math
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tickmind.base import Limit, TickmindError, error_text
from tickmind.lab.experiments.experiment import MeasureKind, MeasureSpec
from tickmind.lab.experiments.trial import CurvePoints
from tickmind.record.measures import MindMaterial, measure, read_material
from tickmind.record.measures.mind_measures import holders

if TYPE_CHECKING:
    from tickmind.record import RunReader, RunStore
    from tickmind.record.report.run_query import RunQuery

MAX_POINTS: Final = Limit("points of a curve", 20_000)
CURVE_POINTS: Final = 200  # of a built-in curve


class MeasureValueError(TickmindError):
    """A measure gave something that is no value or no curve."""


class TrialMeasures:
    """Takes all measures of one run of a store."""

    def __init__(self, store: "RunStore", run_id: str, measures: Iterable[MeasureSpec], file: str) -> None:
        self._store = store
        self._run_id = run_id
        self._measures = tuple(measures)
        self._file = file
        self._material: MindMaterial | None = None
        self._built_in: dict[str, float | None] = {}
        self._query: RunQuery | None = None
        self._modules: dict[str, ModuleType] = {}  # beside the experiment
        self.values: dict[str, float | None] = {}
        self.curves: dict[str, CurvePoints] = {}
        self.errors: dict[str, str] = {}

    def take(self) -> None:
        """Take every measure; what one raises is noted in `errors`."""
        try:
            with self._store.open(self._run_id) as run:
                for spec in self._measures:
                    self._take_one(spec, run)
        finally:
            if self._query is not None:
                self._query.close()

    def _take_one(self, spec: MeasureSpec, run: "RunReader") -> None:
        try:
            found = self._found(spec, run)
            if spec.is_curve:
                self.curves[spec.name] = points = _curve(found)
                self.values[spec.name] = points[-1][1] if points else None
            else:
                self.values[spec.name] = _value(found)
        except (Exception, SystemExit) as error:  # noqa: BLE001  a measure is user code
            self.values[spec.name] = None
            where = f"{self._file}:{spec.line}: measures.{spec.name}"
            self.errors[spec.name] = f"{where}: {_why(error, spec)}"

    def _found(self, spec: MeasureSpec, run: "RunReader") -> Any:
        if spec.kind is MeasureKind.SQL:
            if self._query is None:
                from tickmind.record.report.run_query import RunQuery  # duckdb is slow to import

                self._query = RunQuery(self._store.folder(self._run_id))
            answer = self._query.answer(spec.source, int(MAX_POINTS.maximum) if spec.is_curve else 1)
            if answer.more:
                most = f"{MAX_POINTS.maximum:,} points" if spec.is_curve else "one row"
                raise MeasureValueError(f"the query gives more than {most}; select less, or aggregate")
            return answer.rows if spec.is_curve else _only_value(answer.rows)
        if spec.kind is MeasureKind.PYTHON:
            module, _, name = spec.source.partition(":")
            return getattr(self._module(module), name)(run)
        if spec.is_curve:
            return _known_over_time(self._read(run), spec.fact)
        if not self._built_in:
            facts = [one.fact for one in self._measures if one.fact]
            figures = measure(self._read(run), list(dict.fromkeys(facts)))
            self._built_in = {figure.name: figure.value for figure in figures}
        return self._built_in.get(f"{spec.source}: {spec.fact}" if spec.fact else spec.source)

    def _module(self, name: str) -> ModuleType:
        """Import a module; one beside the experiment goes before any other of its name, imported or not."""
        folder = Path(self._file).resolve().parent
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))  # where Python looks for what it imports
        path = folder.joinpath(*name.split(".")).with_suffix(".py")
        if not path.is_file():
            return importlib.import_module(name)
        if name not in self._modules:
            spec = importlib.util.spec_from_file_location(f"measures_of_{path.stem}", path)
            assert spec is not None, "the name ends with .py"
            assert spec.loader is not None, "the name ends with .py"
            self._modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(self._modules[name])
        return self._modules[name]

    def _read(self, run: "RunReader") -> MindMaterial:
        if self._material is None:
            self._material = read_material(run, [one.fact for one in self._measures if one.fact])
        return self._material


def _known_over_time(material: MindMaterial, fact: str) -> list[tuple[int, float]]:
    """Return the share of minds that know a fact, over the ticks."""
    origins, noted = holders(material, fact)
    learnt = [note.tick_id for who, note in noted.items() if who not in origins] + [0] * len(origins & material.minds)
    ticks = sorted({material.last_tick_id * place // CURVE_POINTS for place in range(CURVE_POINTS + 1)})
    return [(tick, sum(one <= tick for one in learnt) / max(len(material.minds), 1)) for tick in ticks]


def _only_value(rows: list[tuple[Any, ...]]) -> Any:
    if rows and len(rows[0]) != 1:
        raise MeasureValueError(f"the query gives {len(rows[0])} columns; it must give one value")
    return rows[0][0] if rows else None


def _value(found: Any) -> float | None:
    if found is None:
        return None
    if isinstance(found, str | bytes | Mapping) or not hasattr(found, "__float__"):
        raise MeasureValueError(f"it gave {type(found).__name__}, not a number; return a number, or None for no case")
    value = float(found)
    if not math.isfinite(value):
        raise MeasureValueError(f"it gave {value}, which can't be compared; return None for no case")
    return value


def _curve(found: Any) -> CurvePoints:
    try:
        points = tuple((int(tick_id), _value(value)) for tick_id, value in found)
    except (TypeError, ValueError) as error:
        raise MeasureValueError("a curve must be pairs of a tick and a number") from error
    MAX_POINTS.check(len(points))
    known = tuple(sorted((tick_id, value) for tick_id, value in points if value is not None))
    if len({tick_id for tick_id, _ in known}) < len(known):
        raise MeasureValueError("a curve has a tick twice; give one value for each")
    return known


def _why(error: BaseException, spec: MeasureSpec) -> str:
    if isinstance(error, TickmindError):
        return str(error)
    if spec.kind is not MeasureKind.PYTHON:
        return error_text(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error_text(error)} in {Path(last.filename).name}:{last.lineno}"

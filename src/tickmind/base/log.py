"""Logs: readable on a console, JSON for machines, secrets masked and terminal control sequences removed in both.

Parts log through the standard library's `logging`, so an application that embeds one keeps its own set-up.
Programs call `configure_logging` once; every record of every library then passes the same redaction.
"""

import importlib
import logging
import re
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from tickmind.base.secret import redact, redact_fields

LogStyle = Literal["console", "json"]
Event = MutableMapping[str, Any]
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # terminal control sequences begin with one of them


@dataclass(frozen=True, slots=True)
class FieldMessage:
    """An event with its fields; formatted as one line where no handler reads the fields."""

    event: str
    fields: dict[str, Any]

    def __str__(self) -> str:
        shown = redact_fields(self.fields)
        return " ".join([redact(self.event), *(f"{name}={value!r}" for name, value in shown.items())])


class FieldLogger:
    """A standard logger that takes fields: `log.info("tick overran", tick=7, late_ms=3.1)`."""

    __slots__ = ("_logger",)

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def debug(self, event: str, **fields: Any) -> None:
        """Log a detail for debugging."""
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Log a normal event."""
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Log a problem that the program survived."""
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        """Log a failure."""
        self._log(logging.ERROR, event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        """Log a failure with the traceback of the current error."""
        self._log(logging.ERROR, event, fields, exc_info=True)

    def _log(self, level: int, event: str, fields: dict[str, Any], *, exc_info: bool = False) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, FieldMessage(event, fields), exc_info=exc_info, stacklevel=3)


def get_logger(name: str) -> FieldLogger:
    """Return the logger of a module."""
    return FieldLogger(logging.getLogger(name))


def _unpack(_logger: Any, _method: str, event: Event) -> Event:
    for left_by_another_handler in ("message", "asctime"):
        event.pop(left_by_another_handler, None)
    record = event.get("_record")
    if isinstance(record, logging.LogRecord) and isinstance(record.msg, FieldMessage):
        event.update(record.msg.fields)
        event["event"] = record.msg.event
    return event


def _redact_event(_logger: Any, _method: str, event: Event) -> Event:
    kept = {name: event.pop(name) for name in ("_record", "_from_structlog", "exc_info") if name in event}
    return {**redact_fields(event), **kept}


def _redact_traceback(_logger: Any, _method: str, event: Event) -> Event:
    if isinstance(trace := event.get("exception"), str):
        event["exception"] = redact(trace)
    return event


def _remove_controls(_logger: Any, _method: str, event: Event) -> Event:
    return {name: _CONTROLS.sub("\ufffd", value) if isinstance(value, str) else value for name, value in event.items()}


def _load_structlog() -> Any:
    """Load structlog without rich, which it would load for tracebacks with variables; ours have none."""
    hidden = "rich" not in sys.modules and "structlog" not in sys.modules
    if hidden:
        sys.modules["rich"] = None  # type: ignore[assignment]  # makes the import fail as if it were missing
    try:
        return importlib.import_module("structlog")
    finally:
        if hidden:
            del sys.modules["rich"]


def configure_logging(
    style: LogStyle = "console", *, level: str = "INFO", stream: TextIO | None = None, colours: bool | None = None
) -> None:
    """Set up the root logger of this process; calling it again replaces what it set up before."""
    structlog = _load_structlog()
    target = stream or sys.stderr
    if colours is None:
        colours = style == "console" and target.isatty()
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback)
    )
    handler = logging.StreamHandler(target)
    handler.set_name("tickmind")
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_log_level, structlog.stdlib.ExtraAdder(), _unpack],
            processors=[
                structlog.stdlib.add_logger_name,
                structlog.stdlib.PositionalArgumentsFormatter(),
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _redact_event,
                structlog.processors.format_exc_info,
                _redact_traceback,
                _remove_controls,
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                renderer,
            ],
        )
    )
    root = logging.getLogger()
    for old in [known for known in root.handlers if known.get_name() == "tickmind"]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())

"""Logs: readable on a console, JSON for machines, secrets masked in both.

Parts log through the standard library's `logging`, so an application that embeds one keeps its own set-up.
Programs call `configure_logging` once; every record of every library then passes the same redaction.
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Literal, TextIO

from tickmind.base.secret import redact, redact_fields

if TYPE_CHECKING:
    import structlog

LogStyle = Literal["console", "json"]


def get_logger(name: str) -> "structlog.stdlib.BoundLogger":
    """A logger that takes fields: `log.info("tick overran", tick=7, late_ms=3.1)`."""
    import structlog

    logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logging.getLogger(name),
        wrapper_class=structlog.stdlib.BoundLogger,
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_log_level,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
    )
    return logger


def _redact_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    kept = {name: event.pop(name) for name in ("_record", "_from_structlog", "exc_info") if name in event}
    return {**redact_fields(event), **kept}


def _redact_traceback(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if isinstance(trace := event.get("exception"), str):
        event["exception"] = redact(trace)
    return event


def configure_logging(
    style: LogStyle = "console", *, level: str = "INFO", stream: TextIO | None = None, colours: bool | None = None
) -> None:
    """Set up the root logger of this process; calling it again replaces what it set up before."""
    import structlog

    target = stream or sys.stderr
    if colours is None:
        colours = style == "console" and target.isatty()
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback)
    )
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(target)
    handler.set_name("tickmind")
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                *shared[1:],
                _redact_event,
                structlog.processors.format_exc_info,
                _redact_traceback,
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

"""The base of every package, without a domain: time, names, errors, limits, secrets and logs."""

from tickmind.base.clock import Clock, ManualClock, SystemClock
from tickmind.base.errors import ConfigError, LimitExceededError, TickmindError, error_text, is_survivable
from tickmind.base.ids import IdMaker, secret_token, text_sum
from tickmind.base.limits import Limit
from tickmind.base.log import configure_logging, get_logger
from tickmind.base.secret import MASK, Secret, mask_known, redact, redact_fields

__all__ = [
    "MASK",
    "Clock",
    "ConfigError",
    "IdMaker",
    "Limit",
    "LimitExceededError",
    "ManualClock",
    "Secret",
    "SystemClock",
    "TickmindError",
    "configure_logging",
    "error_text",
    "get_logger",
    "is_survivable",
    "mask_known",
    "redact",
    "redact_fields",
    "secret_token",
    "text_sum",
]

"""All parts of the gateway put together: a request is read, admitted, queued, sent and accounted for."""

import asyncio
from collections.abc import Callable
from typing import Any

from tickmind.base import Clock, SystemClock, get_logger
from tickmind.gateway.admission import Wishes, read_wishes
from tickmind.gateway.call import Call, Form
from tickmind.gateway.caller_keys import CallerKeys
from tickmind.gateway.config import GatewayConfig, Surface
from tickmind.gateway.cooldown import Cooldowns
from tickmind.gateway.deadlines import Deadlines
from tickmind.gateway.defer import Defers
from tickmind.gateway.dispatcher import Dispatcher
from tickmind.gateway.inbound import Request, Responder
from tickmind.gateway.job import Handle, Job, Outcome, Plan
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.router import Router
from tickmind.gateway.sessions import Session, Sessions
from tickmind.gateway.surface.openai import OpenAIForm, read_chat, read_responses
from tickmind.gateway.surface.routes import Routes, reply_refusal
from tickmind.gateway.upstreams import Upstreams
from tickmind.llm.safety import is_loopback

_log = get_logger("tickmind.gateway")
_OPENAI = OpenAIForm()
Read = Callable[[bytes], tuple[dict[str, Any], str, bool, int]]

"""One call: from its caller to the queue, from there to a provider, and the reply back.

A call is the queue's carrier, the listener of the provider connection and the pending work of the caller's
connection. It ends exactly once: with a reply, a refusal or the caller's disconnect.
"""

import orjson

from tickmind.gateway.accounting.budgets import FREE
from tickmind.gateway.call_host import CallHost
from tickmind.gateway.http.collecting import Collected
from tickmind.gateway.http.exchange import Responder
from tickmind.gateway.http.masking import masked, masked_error
from tickmind.gateway.http.outcomes import error_in_reply, outcome_of_error
from tickmind.gateway.http.relay import StreamRelay, error_of_stream
from tickmind.gateway.http.reply import ReplyHead, UpstreamExchange
from tickmind.gateway.http.reply_headers import reply_headers, shared_headers, stream_headers
from tickmind.gateway.http.shared_stream import StreamReader
from tickmind.gateway.http.stream_reply import StreamReply
from tickmind.gateway.queue.job import JobState, Outcome, Result
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.reply_sharing.broadcast import Broadcast
from tickmind.gateway.reply_sharing.cache import EVENT_STREAM, JSON, Kept
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.surface_format import SurfaceFormat
from tickmind.llm.errors import LLMResponseError
from tickmind.llm.http.inflating import Inflater

MAX_ERROR_BYTES = 64 * 1024  # of a provider's error that are passed on
_MAX_INFLATED_BYTES = 1024 * 1024  # that one read of a compressed stream may inflate to
_OK = Result.OK


class Call:
    """A request from admission to its last byte. `body` is the request in the form of its surface."""

    trace_header = b""  # for the provider, where calls are traced

    __slots__ = (
        "_exchange", "_head", "_inflater", "_pieces", "_reader", "_room", "_stream", "admitted", "begun", "body",
        "cache_key", "extra_headers", "form", "gateway", "hides_usage", "hold_of_budget", "job", "model", "responder",
        "secrets", "streamed",
    )  # fmt: skip
    # Set when the head of a reply arrives that does not come in one piece:
    _pieces: Collected  # if it is collected, not streamed
    _room: int  # bytes that may still arrive
    _inflater: Inflater | None
    _stream: StreamReply | None  # if it is streamed

    def __init__(
        self,
        gateway: "CallHost[Call]",
        responder: Responder,
        form: SurfaceFormat,
        body: bytes,
        model: str,
        streamed: bool,
        extra_headers: bytes = b"",
    ) -> None:
        self.gateway = gateway
        self.responder = responder
        self.form = form
        self.body = body
        self.model = model
        self.streamed = streamed
        self.job: Ticket | None = None
        self.extra_headers = extra_headers  # for the caller
        self.hold_of_budget = FREE
        self.admitted = False  # and not released yet
        self.begun = False
        self.cache_key = b""  # where replies are shared
        self._exchange: UpstreamExchange | None = None
        self.secrets: tuple[bytes, ...] = ()  # credentials sent to the provider, masked in replies
        self._head: ReplyHead | None = None  # of a reply that did not come in one piece
        self.hides_usage = False  # the gateway, not the caller, asked the provider for token counts
        self._reader: StreamReader | None = None  # of a shared stream, led by this call or another

    # The queue's side

    def send(self, job: Ticket, target: Target) -> None:
        """Send the request to the provider."""
        self._head = None
        gateway = self.gateway
        body = self.form.request(self, target)
        gateway.deadlines.add(self, job.deadline_s)
        way = gateway.upstreams.by_target.get(target) or gateway.upstreams.route_to(target)
        self.secrets = way.secrets
        self._exchange = way.send(job.plan.surface, body, self, self.trace_header)

    def refuse(self, job: Ticket, refusal: Refusal) -> None:  # noqa: ARG002 - the port's signature
        """Send the refusal to the caller and end the call."""
        self.gateway.refused(self, refusal)

    # The provider's side

    def carried_by(self, exchange: UpstreamExchange) -> None:
        """Note which connection carries the call, now that it is open or was replaced."""
        self._exchange = exchange

    def head(self, head: ReplyHead, length: int) -> None:
        """Begin to pass a stream on, or prepare to collect."""
        self._begin(head, length)

    def chunks(self, data: bytes) -> bool:
        """Pass whole lines on unchanged; False if something in them must be changed."""
        stream = self._stream
        if stream is None or self._inflater is not None:
            return False
        is_error = not self.begun and self._begin_stream(stream, data)
        if is_error or not stream.is_direct or not stream.relay.passes(data):
            return False
        self._room -= len(data)
        if self._room < 0:
            self._give_up(Result.BROKEN, self._too_large())
            return True
        self.responder.chunks(data)
        return True

    def data(self, pieces: list[bytes]) -> None:
        """Pass on or collect as much as the limits allow."""
        self._take(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def whole(self, head: ReplyHead, body: bytes) -> None:
        """Handle a reply that came in one piece."""
        self._exchange = None
        if head.is_plain and len(body) <= self.gateway.config.wire.max_reply_bytes:
            self._conclude(head, body)
        elif self._begin(head, len(body)) and self._take(body):
            self.done()

    def done(self) -> None:
        """End the call: the reply is complete."""
        self._exchange = None
        stream = self._stream
        if stream is None:
            assert self._head is not None, "a whole reply has a head"
            self._conclude(self._head, self._pieces.take())
            return
        if not self.begun:
            self._give_up(Result.BROKEN, "the provider ended the stream before its first event")
            return
        self.gateway.deadlines.remove(self)
        last = stream.relay.end()
        job, target = self._sent()
        prompt, completion = stream.relay.counts(job.prompt_tokens)
        outcome = Outcome(_OK, 200, None, prompt, completion, begun=True)
        self.gateway.dispatcher.ended(job, outcome)
        self.gateway.served(self, job, target, outcome)
        self._end_stream(last, outcome)
        self.job = None

    def broken(self, reason: str) -> None:
        """End the attempt: the connection is lost, or its bytes are malformed."""
        self._exchange = None
        self._give_up(Result.BROKEN, reason)

    def overdue(self) -> None:
        """End the call: its total deadline has passed."""
        if self._exchange is None:  # it waited for the reply of an identical request
            if self._reader is not None:
                self._reader.leave()
            self.gateway.cache.leave(self.cache_key, self)
            words = "the identical request that this one waited for was not answered in time"
            refusal = Refusal(Code.DEADLINE, words)
            if self.begun:
                self.gateway.left(self, used=False)
                self.responder.end(b"data: %b\n\n" % self.form.refusal(refusal, b""))
            else:
                self.gateway.refused(self, refusal)
            return
        self._give_up(Result.DEADLINE, "the provider did not answer within the request's deadline")

    # The caller's side

    def gone(self) -> None:
        """Stop all work for a caller that has disconnected, unless other calls wait for the same reply."""
        if self._reader is not None:
            self._reader.leave()
        if self.cache_key and self.gateway.cache.leave(self.cache_key, self):
            return
        self.abandon()

    def hold(self) -> None:
        """Stop reading from the provider: the caller reads too slowly."""
        if self._reader is not None:
            self._reader.hold()
        elif self.begun:
            self._pause()

    def go_on(self) -> None:
        """Resume reading: the caller has caught up."""
        if self._reader is not None:
            self._reader.go_on()
        else:
            self._resume()

    # Sharing of replies

    def shared(self, reply: Kept) -> None:
        """Answer with the reply to an identical request."""
        self.gateway.deadlines.remove(self)
        self.gateway.served_by_another(self)
        job = self.job
        assert job is not None, "a call that waits for another has a job"
        cooldown = self.gateway.cooldown_of(job)
        headers = shared_headers(reply.provider, reply.content_type, cooldown) + self.extra_headers
        body = self.form.finish_body(reply.body, cooldown, (), 0) if reply.status == 200 else reply.body
        self.responder.reply(reply.status, headers, body)

    def join_stream(self, source: Broadcast, provider: str) -> None:
        """Read the stream of an identical request, which has begun."""
        job = self.job
        assert job is not None, "a call that waits for another has a job"
        self.begun = True
        opening = shared_headers(provider, EVENT_STREAM, self.gateway.cooldown_of(job))
        self.responder.begin(200, opening + self.extra_headers)
        self._reader = StreamReader(source, self.responder, self._was_streamed)
        self._reader.join()

    def lead(self) -> None:
        """Send this call itself: the call that it waited for has failed."""
        self.gateway.deadlines.remove(self)
        job = self.job
        assert job is not None, "a call that waits for another has a job"
        self.gateway.dispatcher.submit(job)

    def abandon(self) -> None:
        """Stop: no call waits for the reply any more."""
        used = self._exchange is not None and self._exchange.is_sent
        self._drop_exchange()
        job = self.job
        if job is not None:
            if job.state is JobState.HELD:
                self.gateway.holding.leave(job)
            self.gateway.dispatcher.cancel(job)
        self.gateway.left(self, used=used)

    # Inside

    def _conclude(self, head: ReplyHead, body: bytes) -> None:
        """Classify a complete reply that was collected, and answer the caller."""
        gateway = self.gateway
        gateway.deadlines.remove(self)
        job = self.job
        assert job is not None, "a call is sent with its job"
        target = job.target
        assert target is not None, "a job that was sent has a target"
        if head.status == 200:
            reply, outcome = self.form.reply(self, target, masked(body, self.secrets))
            if outcome.result is _OK:
                gateway.dispatcher.ended(job, outcome)
                gateway.served(self, job, target, outcome)
                self._answer(job, 200, reply, outcome)
                return
            body = masked_error(body, self.secrets)
        else:
            body = masked_error(body, self.secrets)
            now_wall_s = gateway.clock.wall()
            outcome = outcome_of_error(head.status, head.headers, body, now_wall_s=now_wall_s, request=self.body)
        if not self._end(job, target, outcome, used=head.status == 200):
            return  # it is retried, elsewhere or later
        if outcome.result is Result.BROKEN:
            gateway.refused(self, Refusal(Code.PROVIDER_ERROR, f"{target.provider.name}: {outcome.message}"))
        else:
            status, failure = self.form.failure(self, target, outcome, body)
            self._answer(job, status, failure, outcome)

    def _begin(self, head: ReplyHead, length: int) -> bool:
        """Take a reply's head; return False if the attempt is over with it."""
        self._head = head
        self._inflater = None
        self._stream = None
        job = self.job
        assert job is not None, "a call is sent with its job"
        if head.tells_limits:
            self.gateway.dispatcher.learn(job, head.headers)
        if head.coding != "identity":
            try:
                self._inflater = Inflater(head.coding)
            except LLMResponseError as exc:
                self._give_up(Result.BROKEN, str(exc))
                return False
        if head.status != 200:
            self._pieces = Collected()
            self._room = MAX_ERROR_BYTES
            return True
        wire = self.gateway.config.wire
        passes = self.streamed and head.is_stream
        self._room = wire.max_stream_bytes if passes else wire.max_reply_bytes
        if length > self._room:
            self._give_up(Result.BROKEN, self._too_large())
            return False
        if passes:
            opening = stream_headers(job, self.gateway.cooldown_of(job)) + self.extra_headers
            relay = StreamRelay(self.secrets, hides_usage=self.hides_usage)
            self._stream = StreamReply(self.responder, opening, relay)
        else:
            self._pieces = Collected()
        return True

    def _take(self, data: bytes) -> bool:
        """Pass a piece on or collect it; return False if the attempt is over with it."""
        if self._inflater is not None:
            room = self._room if self._stream is None else min(self._room, _MAX_INFLATED_BYTES)
            try:
                data = self._inflater.decode(data, room=room)
            except LLMResponseError as exc:
                self._give_up(Result.BROKEN, str(exc))
                return False
            if len(data) > room:
                self._room = 0
        self._room -= len(data)
        if self._room < 0:
            assert self._head is not None, "a body comes after its head"
            if self._head.status != 200:  # the first part of an error is enough
                self._pieces.add(data)
                self._drop_exchange()
                self.done()
            else:
                self._give_up(Result.BROKEN, self._too_large())
            return False
        if self._stream is None:
            self._pieces.add(data)
            return True
        if not data:
            return True
        if not self.begun and (error := self._begin_stream(self._stream, data)):
            self._fail_stream(masked_error(error, self.secrets))
            return False
        self._stream.piece(data)
        return True

    def _begin_stream(self, stream: StreamReply, data: bytes) -> bytes:
        """Begin the reply with its first bytes; an error instead of a stream begins nothing and is returned."""
        if error := error_of_stream(data):
            return error
        self.begun = True
        if not self.cache_key:
            stream.begin(None)
            return b""
        source = Broadcast(self.gateway.config.wire.max_reply_bytes, self._pause, self._resume)
        self._reader = stream.begin(source)
        self.gateway.cache.begin_stream(self.cache_key, self, source, self._sent()[1].provider.name)
        return b""

    def _end_stream(self, last: bytes, outcome: Outcome | None) -> None:
        """End the reply for all readers; without an `outcome` it is not kept for others."""
        assert self._stream is not None, "what has begun is a stream"
        self._stream.end(last)
        source, cache = self._stream.source, self.gateway.cache
        if source is None:
            return
        body = source.body if outcome is not None and cache.keeps else None
        reply = None if outcome is None or body is None else self._kept(EVENT_STREAM, 200, body, outcome)
        cache.end_stream(self.cache_key, self, reply)
        source.end()

    def _fail_stream(self, error: bytes) -> None:
        """Fail the attempt: a stream that begins with an error counts as an error, whatever its status."""
        self._drop_exchange()
        job, target = self._sent()
        outcome = error_in_reply(orjson.loads(error), error, self.body, self.secrets)
        assert outcome is not None, "an error has an outcome"
        if self._end(job, target, outcome, used=False):
            status, failure = self.form.failure(self, target, outcome, error)
            self._answer(job, status, failure, outcome)

    def _was_streamed(self) -> None:
        """End the call after the last byte of another call's stream."""
        self.gateway.deadlines.remove(self)
        self.gateway.served_by_another(self)
        self.job = None

    def _pause(self) -> None:
        if self._exchange is not None:
            self._exchange.pause()

    def _resume(self) -> None:
        if self._exchange is not None:
            self._exchange.resume()

    def _drop_exchange(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.cancel()
        self.gateway.deadlines.remove(self)

    def _sent(self) -> tuple[Ticket, Target]:
        """Return what was sent, and where to."""
        job = self.job
        assert job is not None, "a call is sent with its job"
        target = job.target
        assert target is not None, "a job that was sent has a target"
        return job, target

    def _end(self, job: Ticket, target: Target, outcome: Outcome, *, used: bool) -> bool:
        """Report an attempt without an answer, which may still cost; return True if the call ends with it."""
        gateway = self.gateway
        over = gateway.dispatcher.ended(job, outcome)
        attempts = job.attempts
        _, _, _, result, _, waited_s, took_s = attempts[-1]
        gateway.tally.attempted(target, result, waited_s, took_s, len(attempts) > 1)
        if over:
            gateway.failed(self, used=used)
        return over

    def _answer(self, job: Ticket, status: int, body: bytes, outcome: Outcome) -> None:
        cooldown = self.gateway.cooldown_of(job)
        waited_ms = int(1000 * (job.sent_s - job.arrived_s))
        if self.cache_key:
            self._share(status, body, outcome)
        if status == 200 and self.form.finishes:
            body = self.form.finish_body(body, cooldown, job.attempts, waited_ms)
        self.responder.reply(status, reply_headers(job, cooldown, waited_ms) + self.extra_headers, body)
        self.job = None  # break the reference cycle, which else waits for the garbage collector

    def _share(self, status: int, body: bytes, outcome: Outcome) -> None:
        """Give the reply to the calls that wait for an identical one."""
        final = outcome.result in {Result.OK, Result.REJECTED}  # every identical request would get the same
        self.gateway.cache.finish(self.cache_key, self, self._kept(JSON, status, body, outcome), final=final)

    def _kept(self, content_type: bytes, status: int, body: bytes, outcome: Outcome) -> Kept:
        """Return the reply in the form in which it is kept for others."""
        target, tokens = self._sent()[1], (outcome.prompt_tokens, outcome.completion_tokens)
        return Kept(status, content_type, body, target.provider.name, target.model, *tokens)

    def _too_large(self) -> str:
        limit = "max_reply_bytes" if self._stream is None else "max_stream_bytes"
        return f"the reply is larger than {limit} allows"

    def _give_up(self, result: Result, reason: str) -> None:
        """End an attempt that gave no complete reply."""
        sent = self._exchange is not None and self._exchange.is_sent
        self._drop_exchange()
        job, target = self._sent()
        status = self._head.status if self._head is not None else 0
        used = status == 200 or (sent and result is Result.DEADLINE)
        if not self._end(job, target, Outcome(result, status, begun=self.begun, message=reason), used=used):
            return
        broken = Code.PROVIDER_ERROR if status or result is not Result.BROKEN else Code.PROVIDER_DOWN
        code = Code.DEADLINE if result is Result.DEADLINE else broken
        wait_s = self.gateway.dispatcher.come_back_s(job) if code is Code.DEADLINE else None
        refusal = Refusal(code, f"{target.provider.name}: {reason}", wait_s)
        if not self.begun:
            self.gateway.refused(self, refusal)
            return
        assert self._stream is not None, "what has begun is a stream"
        gap = b"\n\n" if self._stream.relay.is_cut else b""
        self._end_stream(b"%bdata: %b\n\n" % (gap, self.form.refusal(refusal, self.gateway.cooldown_of(job))), None)

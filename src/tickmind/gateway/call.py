"""One call on its way: from its caller to the queue, from there to a provider, and the reply back.

A call is the queue's carrier, the provider connection's listener and what the caller's connection tells when the
caller is gone. It ends exactly once, by a reply, a refusal or the caller's leaving.
"""

import orjson

from tickmind.gateway.accounting.budgets import FREE
from tickmind.gateway.call_host import CallHost
from tickmind.gateway.fairness.broadcast import Broadcast
from tickmind.gateway.fairness.cache import EVENT_STREAM, JSON, Kept
from tickmind.gateway.http.collecting import Collected
from tickmind.gateway.http.exchange import Responder
from tickmind.gateway.http.masking import masked, masked_error
from tickmind.gateway.http.outcomes import outcome_of_error, told_error
from tickmind.gateway.http.relay import StreamRelay, error_of_stream
from tickmind.gateway.http.reply import ReplyHead, UpstreamExchange
from tickmind.gateway.http.reply_headers import reply_headers, shared_headers, stream_headers
from tickmind.gateway.http.shared_stream import StreamReader
from tickmind.gateway.http.stream_reply import StreamReply
from tickmind.gateway.queue.job import JobState, Outcome, Result
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.surface_format import SurfaceFormat
from tickmind.llm.errors import LLMResponseError
from tickmind.llm.http.inflating import Inflater

MAX_ERROR_BYTES = 64 * 1024  # of a provider's error, as far as it is passed on
_MAX_INFLATED_BYTES = 1024 * 1024  # that one read of a compressed stream may become
_OK = Result.OK


class Call:
    """See the module. `body` is the request, as its form wants it."""

    __slots__ = (
        "_exchange", "_head", "_inflater", "_pieces", "_reader", "_room", "_stream", "admitted", "begun", "body",
        "cache_key", "extra_headers", "form", "gateway", "hides_usage", "hold_of_budget", "job", "model", "responder",
        "secrets", "streamed",
    )  # fmt: skip
    # Of a reply that does not come at once, from its head on:
    _pieces: Collected  # if it is not passed on as it comes
    _room: int  # bytes that may still come
    _inflater: Inflater | None
    _stream: StreamReply | None  # if it is passed on as it comes

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
        self.admitted = False  # and not let out yet
        self.begun = False
        self.cache_key = b""  # where replies are shared
        self._exchange: UpstreamExchange | None = None
        self.secrets: tuple[bytes, ...] = ()  # what the provider was sent and nobody else may see
        self._head: ReplyHead | None = None  # of a reply that did not come at once
        self.hides_usage = False  # the provider was asked to count tokens, by us and not by the caller
        self._reader: StreamReader | None = None  # of a streamed reply that is shared, ours or another's

    # The queue's side

    def send(self, job: Ticket, target: Target) -> None:
        """Put it on the wire."""
        self._head = None
        body = self.form.request(self, target)
        self.gateway.deadlines.add(self, job.deadline_s)
        way = self.gateway.upstreams.way_to(target)
        self.secrets = way.secrets
        self._exchange = way.send(job.plan.surface, body, self)

    def refuse(self, job: Ticket, refusal: Refusal) -> None:  # noqa: ARG002 - the port's signature
        """Tell the caller, and be done."""
        self.gateway.refused(self, refusal)

    # The provider's side

    def carried_by(self, exchange: UpstreamExchange) -> None:
        """Its connection is open, or it goes by another one."""
        self._exchange = exchange

    def head(self, head: ReplyHead, length: int) -> None:
        """Begin to pass a stream on, or prepare to collect."""
        self._begin(head, length)

    def chunks(self, data: bytes) -> bool:
        """Pass whole lines on just as they come, if nothing in them must be changed."""
        stream = self._stream
        if stream is None or self._inflater is not None:
            return False
        if (not self.begun and self._begin_stream(stream, data)) or not stream.passes(data):
            return False
        self._room -= len(data)
        if self._room < 0:
            self._give_up(Result.BROKEN, self._too_large())
            return True
        self.responder.chunks(data)
        return True

    def data(self, pieces: list[bytes]) -> None:
        """Pass on, or collect, as much as there is room for."""
        self._take(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def whole(self, head: ReplyHead, body: bytes) -> None:
        """Take a reply that came at once."""
        self._exchange = None
        if head.is_plain and len(body) <= self.gateway.config.wire.max_reply_bytes:
            self._conclude(head, body)
        elif self._begin(head, len(body)) and self._take(body):
            self.done()

    def done(self) -> None:
        """The reply is whole."""
        self._exchange = None
        stream = self._stream
        if stream is None:
            assert self._head is not None, "a whole reply has a head"
            self._conclude(self._head, self._pieces.take())
            return
        if not self.begun:
            self._give_up(Result.BROKEN, "the provider ended the stream before it said anything")
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
        """The connection is gone, or what came over it can't be read."""
        self._exchange = None
        self._give_up(Result.BROKEN, reason)

    def overdue(self) -> None:
        """The total deadline has passed."""
        if self._exchange is None:  # it waited for another's reply
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
        """The caller has left: whatever is done for it stops, unless others wait for the same reply."""
        if self._reader is not None:
            self._reader.leave()
        if self.cache_key and self.gateway.cache.leave(self.cache_key, self):
            return
        self.abandon()

    def hold(self) -> None:
        """The caller reads too slowly: stop reading for it."""
        if self._reader is not None:
            self._reader.hold()
        elif self.begun:
            self._pause()

    def go_on(self) -> None:
        """The caller has caught up."""
        if self._reader is not None:
            self._reader.go_on()
        else:
            self._resume()

    # Sharing of replies

    def shared(self, reply: Kept) -> None:
        """The reply to an identical request is here."""
        self.gateway.deadlines.remove(self)
        self.gateway.served_by_another(self)
        job = self.job
        assert job is not None, "a call that waits for another has a job"
        cooldown = self.gateway.cooldown_of(job)
        headers = shared_headers(reply.provider, reply.content_type, cooldown) + self.extra_headers
        body = self.form.finish_body(reply.body, cooldown, (), 0) if reply.status == 200 else reply.body
        self.responder.reply(reply.status, headers, body)

    def join_stream(self, source: Broadcast, provider: str) -> None:
        """The reply to an identical request is a stream that has begun: read it, too."""
        job = self.job
        assert job is not None, "a call that waits for another has a job"
        self.begun = True
        opening = shared_headers(provider, EVENT_STREAM, self.gateway.cooldown_of(job))
        self.responder.begin(200, opening + self.extra_headers)
        self._reader = StreamReader(source, self.responder, self._was_streamed)
        self._reader.join()

    def lead(self) -> None:
        """The call that this one waited for came to nothing."""
        self.gateway.deadlines.remove(self)
        job = self.job
        assert job is not None, "a call that waits for another has a job"
        self.gateway.dispatcher.submit(job)

    def abandon(self) -> None:
        """Nobody waits for the reply any more."""
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
        """All of a reply is here that is given to the caller as a whole: see what it means, and answer."""
        gateway = self.gateway
        gateway.deadlines.remove(self)
        job = self.job
        assert job is not None, "a call is sent with its job"
        target = job.target
        assert target is not None, "a job that was sent has a target"
        if head.status == 200:
            reply, outcome = self.form.reply(self, target, masked(body, self.secrets))
            if outcome.result is not _OK:
                body = masked_error(body, self.secrets)
        else:
            body = masked_error(body, self.secrets)
            now_wall_s = gateway.clock.wall()
            outcome = outcome_of_error(head.status, head.headers, body, now_wall_s=now_wall_s, request=self.body)
            reply = b""
        if outcome.result is _OK:
            gateway.dispatcher.ended(job, outcome)
            gateway.served(self, job, target, outcome)
            self._answer(job, 200, reply, outcome)
        elif not self._end(job, target, outcome, used=head.status == 200):
            return  # it goes on, elsewhere or later
        elif outcome.result is Result.BROKEN:
            gateway.refused(self, Refusal(Code.PROVIDER_ERROR, f"{target.provider.name}: {outcome.message}"))
        else:
            status, failure = self.form.failure(self, target, outcome, body)
            self._answer(job, status, failure, outcome)

    def _begin(self, head: ReplyHead, length: int) -> bool:
        """Take a reply's head; False if nothing can come of it."""
        self._head = head
        self._pieces = Collected()
        self._room = 0
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
        return True

    def _take(self, data: bytes) -> bool:
        """Pass a piece on, or collect it; False if that was the end."""
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
            if self._head.status != 200:  # what there is of the error says enough
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
        """Begin the reply, now that something came of it; an error in its place begins nothing and is returned."""
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
        """End the reply for all who read it; one without an `outcome` is not kept for others."""
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
        """A stream that begins with an error is one, whatever its status says."""
        self._drop_exchange()
        job, target = self._sent()
        outcome = told_error(orjson.loads(error), error, self.body, self.secrets)
        assert outcome is not None, "it was found to be one"
        if self._end(job, target, outcome, used=False):
            status, failure = self.form.failure(self, target, outcome, error)
            self._answer(job, status, failure, outcome)

    def _was_streamed(self) -> None:
        """All of another's stream was read."""
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
        """What was sent, and where to."""
        job = self.job
        assert job is not None, "a call is sent with its job"
        target = job.target
        assert target is not None, "a job that was sent has a target"
        return job, target

    def _end(self, job: Ticket, target: Target, outcome: Outcome, *, used: bool) -> bool:
        """Tell of an attempt that gave no answer, though it may have cost one; True if the call is over with it."""
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
        if status == 200:
            body = self.form.finish_body(body, cooldown, job.attempts, waited_ms)
        self.responder.reply(status, reply_headers(job, cooldown, waited_ms) + self.extra_headers, body)
        self.job = None  # the two hold each other: without this they stay until the garbage is collected

    def _share(self, status: int, body: bytes, outcome: Outcome) -> None:
        """Give the reply to those who asked for the same."""
        final = outcome.result in {Result.OK, Result.REJECTED}  # the others would fare the same
        self.gateway.cache.finish(self.cache_key, self, self._kept(JSON, status, body, outcome), final=final)

    def _kept(self, content_type: bytes, status: int, body: bytes, outcome: Outcome) -> Kept:
        """The reply as it can be given to others."""
        target, tokens = self._sent()[1], (outcome.prompt_tokens, outcome.completion_tokens)
        return Kept(status, content_type, body, target.provider.name, target.model, *tokens)

    def _too_large(self) -> str:
        limit = "max_reply_bytes" if self._stream is None else "max_stream_bytes"
        return f"the reply is larger than {limit} allows"

    def _give_up(self, result: Result, reason: str) -> None:
        """End an attempt that gave nothing whole."""
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

"""Promises of the services of `proto/tickmind/v1`; servers keep them and clients rely on them.

    service             call                        form        meaning
    TickService         StreamTicks                 stream      one event at the start of each tick; latest wins
    EntityDiscovery     ListControllableEntities    unary       pages in ascending ids; `more` says whether to go on
                        StreamEntityLifecycle       stream      with `include_present` it begins with the present state
                        StreamWorld                 stream      the constant part of the world, then the stream ends
    LeaseService        AcquireLease                unary       a lease, or a reason with `retry_after_ms`
                        RenewLease                  unary       full lifetime again; an expired lease is EXPIRED_LEASE
                        ReleaseLease                unary       control ends at once
    ObservationService  StreamObservations          stream      one at the start of each tick; latest wins
    ActionService       SubmitIntent                unary       one for each tick, the first one counts
    ControlService      Control                     both ways   one entity: observations down, intents up
                        ControlBatch                both ways   many entities of one host, as packed columns
    RelayService        RelayControl                both ways   the Control streams of many clients of a bridge
    ViewerService       StreamViewerEvents          stream      one event after each recorded tick
                        GetViewerSnapshot           unary       the world after the last recorded tick
    AgentTelemetry      ReportThought               unary       for the record and the viewer only
                        ReportStatus                unary       for the record and the viewer only
                        ReportInsights              unary       for the record and the viewer only
    OperatorService     SpawnActor                  unary       answers after the tick in which the actor comes
                        DespawnActor                unary       answers after the tick in which the actor leaves
                        Play                        both ways   as Control, for a person who borrows an entity
    grpc.health.v1      Check, Watch                            the standard service; "" is the whole server

Refusals are answers. A call fails only with
    INVALID_ARGUMENT    the message breaks a rule of the codec; the details say which
    UNAUTHENTICATED     the token in the metadata (`authorization: Bearer ...`) is missing or wrong
    PERMISSION_DENIED   a stream was opened with a lease that does not allow it, or the token is no operator's
    RESOURCE_EXHAUSTED  a message is too large, a peer has too many streams, or a reader stalled and was cut off
    UNAVAILABLE         the world is stopping or can't be reached
and a malformed intent is not even that: it is `Ack(accepted=False, reason=ILLEGAL_ACTION)`.

Control streams:
- The first frame up is `open`, and the first one down `opened`, or `closed` with the reason of the refusal.
- Each frame up renews the lease. An agent without an intent sends `keep_alive` well before its time is over. An open
  connection alone keeps nothing alive, so that a stopped process loses control.
- Each intent frame is answered by one `ack` (`acks`) frame, in order and within a second, however long a tick takes.
  Observations may come in between. A client that gets neither for as long as a lease lasts gives the stream up.
- `release` gives control up at once. A stream that just breaks leaves the lease to run out, and the same controller
  with the secret of that lease (`previous_lease_id`) may take the entity back before, over a new stream.
- A newer stream for the same lease replaces the older one, which gets `closed` with INVALID_LEASE.
- `closed` is the last frame down.
- A person borrows an entity (`play`, over OperatorService.Play): its agent keeps its lease and its stream, perceives
  on, and has its intents refused with PLAYED until the person releases the entity or the person's lease runs out.
- Batches: one secret stands for all leases of the host; each entity keeps an epoch of its own. The observations of a
  tick come in `parts` parts, each whole in itself, with different observers. Intents may come in several batches too.
  What is wrong with one intent refuses that one; what is wrong with the frame itself ends the stream.
- Relayed: a bridge numbers the control streams of its clients, each with a greater number than all before, and sends
  their frames together. Each ends by itself, with the status that it would have had as a stream of its own.

Lease secrets travel in messages and never in metadata, paths, details or logs.
"""

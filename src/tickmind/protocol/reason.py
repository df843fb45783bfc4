"""`Reason`: why an intent was refused or failed."""

from enum import StrEnum


class Reason(StrEnum):
    """The closed list of reasons, for `Ack` and `ActionResult`; `NONE` is empty and means success.

    The place in the list is the code in columns (`REASONS[code]`), so new reasons are only ever added at the end.
    """

    NONE = ""

    # Refusals: the intent never reached the rules.
    LATE_TICK = "late_tick"  # the deadline of that tick has passed
    EARLY_TICK = "early_tick"  # that tick has not begun
    INVALID_LEASE = "invalid_lease"  # unknown, or another entity's
    EXPIRED_LEASE = "expired_lease"
    DUPLICATE_INTENT = "duplicate_intent"  # one for each tick; the first one counts
    UNKNOWN_ENTITY = "unknown_entity"
    ILLEGAL_ACTION = "illegal_action"  # not an action of this world, or with values that no action has
    TEXT_TOO_LONG = "text_too_long"
    OVERLOADED = "overloaded"  # a queue or a rate is at its limit
    LEASE_HELD = "lease_held"  # another controller holds the entity
    STOPPING = "stopping"  # the world is being shut down

    # Movement.
    OUT_OF_BOUNDS = "out_of_bounds"
    NOT_WALKABLE = "not_walkable"
    ILLEGAL_DIAGONAL = "illegal_diagonal"  # both tiles beside a diagonal step must be walkable
    TILE_CONTESTED = "tile_contested"  # an actor that comes before in the order got the tile
    SWAP = "swap"
    CYCLE = "cycle"
    OCCUPIED = "occupied"  # an actor stands there and did not try to leave
    BLOCKED_BY_FAILED_MOVE = "blocked_by_failed_move"  # an actor stands there and failed to leave

    # Actions.
    ASLEEP = "asleep"  # only Wake and Wait are possible
    INCAPACITATED = "incapacitated"  # only Wake, Use, Say and Wait are possible
    NOT_ASLEEP = "not_asleep"
    TOO_TIRED = "too_tired"  # not enough energy to wake up
    UNKNOWN_KIND = "unknown_kind"  # no such kind of item in this world, or of objects that can be built
    UNKNOWN_TARGET = "unknown_target"  # no such entity or object in this world
    NOTHING_HERE = "nothing_here"  # none of that kind on the tile, or not enough in the container
    NOT_IN_INVENTORY = "not_in_inventory"
    INVENTORY_FULL = "inventory_full"
    NOT_USABLE = "not_usable"
    TOO_FAR = "too_far"  # the target is not on this tile or one beside it
    WRONG_STATE = "wrong_state"  # the object has no such action in its present state
    MISSING_ITEM = "missing_item"  # the action needs something in the inventory
    TARGET_OCCUPIED = "target_occupied"  # something is where the object would close, grow or be built
    CLOSED = "closed"  # the action has hours, and this is not one of them
    NOT_A_CONTAINER = "not_a_container"
    NOT_OWNER = "not_owner"  # only its owner puts items into it and takes them out; others buy and sell
    CONTAINER_FULL = "container_full"
    NOT_FOR_SALE = "not_for_sale"  # the container has no price for that kind of item
    NO_OFFER = "no_offer"  # there is no such offer, or the actor that made it has lost what it offered
    AWAY = "away"  # the actor is not in the world now: it has not come yet, or has left
    STILL_WALKING = "still_walking"  # the last step was onto a floor on which steps take longer
    ALREADY_THERE = "already_there"  # the actor is in the world now, so it can't come into it
    NONE_LEFT = "none_left"  # as many of that kind are built as the world has room for

    # Playing.
    PLAYED = "played"  # a person plays the entity; the agent keeps its lease, and acts again when the person leaves


REASONS = tuple(Reason)  # code -> reason
REASON_CODES = {reason: code for code, reason in enumerate(REASONS)}

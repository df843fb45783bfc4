"""`tickmind world spawn` and `tickmind world despawn`: bring actors into a running world, and send them away."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError
from tickmind.base.problems import nearest
from tickmind.cli.screen import harmless
from tickmind.cli.world.endpoint import (
    WORLD,
    WorldAddress,
    WorldCa,
    WorldCertificate,
    WorldTokenFile,
    world_endpoint,
)

if TYPE_CHECKING:
    from tickmind.wire import PlacementOutcome, SyncWorldClient, WorldEndpoint

WAIT_S = 90.0  # for the end of the open tick; in lockstep that waits for minds
_TILE = re.compile(r"([0-9]{1,5}),([0-9]{1,5})")

Actor = Annotated[str, typer.Argument(help="The id of the actor, as in the scenario.")]


def spawn(
    actor: Actor,
    at: Annotated[
        str | None, typer.Option(metavar="X,Y", help="The tile; where the scenario puts the actor if left out.")
    ] = None,
    world: WorldAddress = WORLD,
    world_token_file: WorldTokenFile = None,
    world_ca: WorldCa = None,
    world_certificate: WorldCertificate = None,
) -> None:
    """Bring an actor that is away into a running world, at the end of the tick. Its run records that."""
    tile = None if at is None else _tile(at)
    endpoint = world_endpoint(world, world_token_file, world_ca, world_certificate, timeout_s=WAIT_S)
    outcome = _place(endpoint, actor, tile)
    assert outcome.at is not None, "it was to come to a tile"
    typer.echo(harmless(f"{actor} is in the world from tick {outcome.tick_id + 1:,} on, at {_text(outcome.at)}."))


def despawn(
    actor: Actor,
    world: WorldAddress = WORLD,
    world_token_file: WorldTokenFile = None,
    world_ca: WorldCa = None,
    world_certificate: WorldCertificate = None,
) -> None:
    """Take an actor out of a running world, with all that it carries, at the end of the tick. Its run records that."""
    endpoint = world_endpoint(world, world_token_file, world_ca, world_certificate, timeout_s=WAIT_S)
    outcome = _place(endpoint, actor, None, leaves=True)
    typer.echo(
        harmless(f"{actor} is away from tick {outcome.tick_id + 1:,} on; `tickmind world spawn` brings it back.")
    )


def _place(
    endpoint: "WorldEndpoint", actor: str, tile: tuple[int, int] | None, *, leaves: bool = False
) -> "PlacementOutcome":
    """Give the order and return its outcome. Raises `ConfigError` with the reason if the world refuses it."""
    from tickmind.wire import MessageError, SyncWorldClient

    with SyncWorldClient(endpoint) as client:
        try:
            outcome = client.despawn(actor) if leaves else client.spawn(actor, tile)
        except MessageError as error:
            raise ConfigError(str(error)) from error
        if not outcome.ok:
            raise ConfigError(harmless(why_refused(actor, outcome, client)))
        return outcome


def why_refused(actor: str, outcome: "PlacementOutcome", client: "SyncWorldClient") -> str:
    """Return in words why the world refused an order, and what to do."""
    from tickmind.protocol import Reason

    where = "" if outcome.at is None else f"({_text(outcome.at)})"
    match outcome.reason:
        case Reason.UNKNOWN_ENTITY:
            names = [one.entity_id for one in client.world().actors]
            return f"the world has no actor {actor!r}{nearest(actor, names)}; only actors of its scenario can come"
        case Reason.ALREADY_THERE:
            return f"{actor} is in the world already"
        case Reason.AWAY:
            return f"{actor} is not in the world, so it can't leave it"
        case Reason.OUT_OF_BOUNDS:
            return f"{where} is not on the map; choose another tile with --at X,Y"
        case Reason.NOT_WALKABLE:
            return f"no actor can stand at {where} now: the tile is not walkable; choose another one with --at X,Y"
        case Reason.OCCUPIED:
            return f"another actor stands at {where}; choose another tile with --at X,Y, or try again"
        case Reason.STOPPING:
            return "the world is being shut down"
        case Reason.OVERLOADED:
            return "the world has too many orders in this tick; try again"
        case other:
            return f"the world refused the order: {other}"


def _tile(text: str) -> tuple[int, int]:
    match = _TILE.fullmatch(text.replace(" ", ""))
    if match is None:
        raise ConfigError(f"--at is a tile as X,Y, such as --at 3,7, not {text!r}")
    return int(match[1]), int(match[2])


def _text(tile: tuple[int, int]) -> str:
    return f"{tile[0]}, {tile[1]}"

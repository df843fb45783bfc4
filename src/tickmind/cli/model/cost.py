"""`tickmind model cost`: what minds would cost with a model, before any is asked."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError

if TYPE_CHECKING:
    from tickmind.llm.prices import Price
    from tickmind.record.reader import RunReader


@dataclass(frozen=True, slots=True)
class DayTokens:
    """Tokens of one villager in one day of its world. The cached ones are among the prompt's."""

    prompt: float
    cached: float
    completion: float
    source: str


# Measured over a morning of Willowbrook with an endpoint that answers at once, so that no question is left out; the
# tokens are estimated from letters, and none is taken to come from a cache.
WILLOWBROOK = DayTokens(18_700, 0, 430, "Willowbrook, with every question answered at once")


def cost(
    model: Annotated[str, typer.Argument(help="The model's name, as its provider calls it.")],
    villagers: Annotated[int, typer.Option(min=1, help="Characters that think.")] = 12,
    days: Annotated[float, typer.Option(min=0.01, help="Days of their world in each run.")] = 2,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Runs, such as one for each seed.")] = 1,
    like: Annotated[
        str,
        typer.Option(metavar="RUN", help="A recorded run whose measured tokens are taken, instead of typical ones."),
    ] = "",
    folder: Annotated[Path, typer.Option("--folder", help="The folder of all runs, for --like.")] = Path("runs"),
    price: Annotated[
        str,
        typer.Option(
            metavar="IN,OUT[,CACHED]", help="US dollars per million tokens, where the list price is unknown or differs."
        ),
    ] = "",
) -> None:
    """Estimate what minds cost with a model: measured tokens per villager and day, times villagers, days and runs.

    Nothing is asked and nothing is sent. Thinking before an answer is not in typical tokens: take `--like` a short run
    with the same model.
    """
    from rich.console import Console

    from tickmind.cli.screen import harmless
    from tickmind.llm.prices import PRICES_AS_OF, find_price
    from tickmind.record import RunStore

    known = read_price(price) if price else find_price(model)
    tokens = WILLOWBROOK
    if like:
        with RunStore(folder).open(like) as reader:
            tokens = tokens_of(reader)
    villager_days = villagers * days * runs
    typer.echo(f"Tokens per villager and day: {tokens.prompt:,.0f} read, of which {tokens.cached:,.0f} from a cache,")
    typer.echo(f"and {tokens.completion:,.0f} written ({harmless(tokens.source)}).")
    total = (tokens.prompt + tokens.completion) * villager_days
    typer.echo(f"{villagers} villagers, {days:g} days, {runs} runs: {total:,.0f} tokens.")
    if known is None:
        typer.echo(f"No price of {harmless(model)} is known; give one with --price IN,OUT.")
        return
    usd = known.cost_usd(*(round(each * villager_days) for each in (tokens.prompt, tokens.completion, tokens.cached)))
    source = "the price given" if price else f"list prices of {PRICES_AS_OF}"
    Console(highlight=False, soft_wrap=True).print(
        f"About ${usd:,.2f} with {harmless(model)}, at {source}.", markup=False
    )


def read_price(text: str) -> "Price":
    """Return a price of `IN,OUT` or `IN,OUT,CACHED`; raises `ConfigError` for another text."""
    from tickmind.llm.prices import Price

    try:
        each = [float(part) for part in text.split(",")]
    except ValueError:
        each = []
    if len(each) not in (2, 3) or not all(0 <= part < 1e6 for part in each):
        raise ConfigError(f"--price takes US dollars per million tokens, as 0.15,0.60; {text[:40]!r} is none")
    return Price(*each)


def tokens_of(reader: "RunReader") -> DayTokens:
    """Return the tokens that a run took per villager and day; raises `ConfigError` if it counted none."""
    calls = [call for call in reader.llm_calls() if call.prompt_tokens is not None]
    days = (reader.last_tick_id or 0) / reader.info.setting.calendar.day_ticks
    thinkers = len({call.actor_id for call in calls})
    if not calls or not days:
        raise ConfigError(f"run {reader.run_id} has no thought whose tokens were counted; choose one with a model")
    prompt, cached, completion = (
        sum(getattr(call, name) or 0 for call in calls) / (thinkers * days)
        for name in ("prompt_tokens", "cached_tokens", "completion_tokens")
    )
    return DayTokens(
        prompt, cached, completion, f"run {reader.run_id}, {len(calls):,} thoughts of {thinkers} villagers"
    )

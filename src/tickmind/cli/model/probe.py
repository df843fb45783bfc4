"""`tickmind model probe`: whether a model chooses for characters by what the options say."""

import json
import os
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tickmind.llm.local.weights import WeightStore
    from tickmind.mind.choice_probe import ProbeResult

EXIT_USAGE = 2
EXIT_FAILED = 1
BOOK = "choices.json"  # in the cache: weights -> how they chose


def probe() -> None:
    """Find out whether the default model chooses by content: twelve menus, with the sensible option at each place.

    Of a model on this machine the result is kept: one that chooses well decides for the characters of `tickmind demo`,
    and not only words their lines.
    """
    import asyncio

    from rich.console import Console

    from tickmind.base import TickmindError
    from tickmind.llm.local.weights import WeightStore

    errors, store = Console(stderr=True), WeightStore()
    try:
        with errors.status("starting the model") as status:
            found, why = asyncio.run(_probe(store, lambda done: status.update(f"question {done} of 12")))
    except TickmindError as error:
        errors.print(str(error), soft_wrap=True, markup=False)
        raise typer.Exit(EXIT_FAILED) from None
    if found is None:
        errors.print(f"There is no model to probe. {why}", soft_wrap=True, markup=False)
        raise typer.Exit(EXIT_USAGE)
    verdict = "It chooses by content" if found.decides else "It does not choose by content, so code chooses for it"
    typer.echo(f"{why}\n{found.right} of {found.of} choices were sensible; {found.first} took the first. {verdict}.")


async def _probe(store: "WeightStore", on_question: "Callable[[int], None]") -> "tuple[ProbeResult | None, str]":
    """Put the questions to the default model; return how it chose, and why it is that model."""
    from tickmind.base import Secret
    from tickmind.characters.villager import ROLE, TASK
    from tickmind.cli.model.served_model import served_model
    from tickmind.llm import CallConfig, Message, ModelClient, ModelConfig, load_model_config
    from tickmind.llm.local.model_choice import choose_model, gather_facts
    from tickmind.mind.choice_probe import judge, probe_questions

    choice = choose_model(gather_facts(store=store), known=store.known)
    if not choice.is_real:
        return None, choice.why
    async with served_model(os.environ) as served:
        if served.why != choice.why:  # it does not start, and a script speaks instead
            return None, served.why
        key = served.key or Secret("")
        given = ModelConfig(served.base_url, api_key=key, model=served.model) if served.base_url else None
        async with ModelClient(given or load_model_config()) as client:
            call = CallConfig(temperature=0.0, max_tokens=30, stop=("\n",))
            questions, replies = probe_questions(), []
            for number, question in enumerate(questions, 1):
                on_question(number)
                asked = [Message.system(ROLE), Message.user(f"{question.text}\n{TASK}")]
                replies.append((await client.complete(asked, call)).content)
    found = judge(questions, replies)
    if choice.weights:
        keep_result(store.cache / BOOK, choice.weights, found)
    return found, choice.why


def keep_result(path: "Path", weights: str, result: "ProbeResult") -> None:
    """Keep how a model chose."""
    from tickmind.base.files import replace_file

    results = {**_results(path), weights: result._asdict()}
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(results, indent=1) + "\n").encode())


def is_fit_to_decide(path: "Path", weights: str) -> bool:
    """Return whether a probe has shown that a model chooses by content."""
    from tickmind.mind.choice_probe import ProbeResult

    kept = _results(path).get(weights)
    try:
        return kept is not None and ProbeResult(**{name: int(value) for name, value in kept.items()}).decides
    except (AttributeError, OverflowError, TypeError, ValueError):
        return False  # of another version


def _results(path: "Path") -> dict[str, dict[str, int]]:
    try:
        results = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}  # there is none, or it can be made again
    return results if isinstance(results, dict) else {}

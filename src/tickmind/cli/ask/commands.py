"""`tickmind ask`: a question, and a model's answer as it arrives."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class WireApi(StrEnum):
    """The wire formats of endpoints."""

    CHAT = "chat"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"


def ask(
    prompt: Annotated[str, typer.Argument(help="What to ask; - reads it from stdin.")],
    system: Annotated[str, typer.Option(help="Instructions that frame the conversation.")] = "",
    schema: Annotated[
        str,
        typer.Option(
            metavar='FILE|JSON|"NAME,NAME"',
            help="Ask for a JSON object: a JSON schema, a file with one, or the names of its fields.",
        ),
    ] = "",
    tools: Annotated[
        bool, typer.Option("--tools", help="Let the model use a few harmless tools: time, calculator, dice.")
    ] = False,
    model: Annotated[str, typer.Option(help="The model to ask at the endpoint, instead of LLM_MODEL.")] = "",
    base_url: Annotated[
        str,
        typer.Option(
            help="The endpoint, instead of LLM_BASE_URL. Its key is read from LLM_API_KEY or a .env file only."
        ),
    ] = "",
    api: Annotated[WireApi | None, typer.Option(help="The wire format of the endpoint, instead of LLM_API.")] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, help="The sampling temperature; 0 is the most predictable.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="The longest answer in tokens, including thinking.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds until the call fails, even if it still streams.")
    ] = None,
    local: Annotated[
        str, typer.Option(metavar="NAME", help="Use a model on this machine: a name from `model list`, or a GGUF file.")
    ] = "",
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Use the scripted double: no model, no network.")
    ] = False,
    cassette: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record the call to this file; if the file exists, play it back instead."),
    ] = None,
) -> None:
    """Ask a model and stream its answer.

    The answer goes to stdout, everything else to stderr; thinking is shown dimmed, on a terminal only.
    Without an endpoint (LLM_BASE_URL or LLM_API_KEY) a model on this machine answers, and without one of those a
    scripted double; stderr says which.
    """
    if schema and tools:
        raise typer.BadParameter("--schema and --tools can't be used together")
    if local and scripted:
        raise typer.BadParameter("--local and --scripted can't be used together")
    if (local or scripted) and (base_url or model or api):
        raise typer.BadParameter("--base-url, --model and --api are for an endpoint, not for --local or --scripted")
    from tickmind.cli.ask.asking import AskOptions, run_ask  # the model layer, which --help does without

    options = AskOptions(
        prompt=prompt,
        system=system,
        schema=schema,
        tools=tools,
        model=model,
        base_url=base_url,
        api=api.value if api else "",
        temperature=temperature,
        max_tokens=max_tokens,
        timeout_s=timeout,
        local=local,
        scripted=scripted,
        cassette=cassette,
    )
    run_ask(options, sys.stdout, sys.stderr)

"""`tickmind ask`: a question, and a model's answer as it comes."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class WireApi(StrEnum):
    """The wire forms that endpoints speak."""

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
            help="Ask for an object: a JSON schema, in a file or as it is, or the names of the fields.",
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
    api: Annotated[
        WireApi | None, typer.Option(help="The wire form that the endpoint speaks, instead of LLM_API.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, help="How bold the answer is; 0 is as sober as can be.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="How long the answer may be, thinking included.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds until the call is given up, however it drips.")
    ] = None,
    local: Annotated[
        str, typer.Option(metavar="NAME", help="Use a model of this machine: a name of `model list`, or a GGUF file.")
    ] = "",
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Use the scripted double: no model, no network.")
    ] = False,
    cassette: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record the call to this file; if the file exists, play it back instead."),
    ] = None,
) -> None:
    """Ask a model and watch the answer come.

    The answer goes to stdout, everything else to stderr; thinking is shown dimmed, and only to those who watch.
    Without an endpoint (LLM_BASE_URL or LLM_API_KEY) a model of this machine answers, and without one of those a
    scripted double; which one it is, is said.
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

"""A conversation recorded once and played back for ever: the same words, without the model.

python examples/13_cassette.py
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from tickmind.llm import CallConfig, Message
from tickmind.llm.local.default_model import DefaultModel, open_default_model, scripted_choice

QUESTIONS = ("What do you see from the tower?", "And what do you hear?")


async def converse(model: DefaultModel) -> list[str]:
    """Ask two questions, the second one with the first reply before it."""
    print(model.choice.why)
    history: list[Message] = []
    said: list[str] = []
    for question in QUESTIONS:
        history.append(Message.user(question))
        result = await model.client.complete(history, CallConfig(temperature=0.8, max_tokens=80))
        history.append(result.as_message())
        said.append(result.content.strip())
        print(f"  {question}\n    {said[-1]}")
    return said


async def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripted", action="store_true", help="use a scripted double instead of a model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tower.jsonl"
        async with open_default_model(scripted_choice() if options.scripted else None, cassette=file) as model:
            recorded = await converse(model)
        print(f"{len(file.read_text().splitlines()) - 1} calls were recorded, {file.stat().st_size} bytes.\n")
        async with open_default_model(cassette=file) as model:
            played = await converse(model)
    print("The same words." if played == recorded else "Something else was said!")


if __name__ == "__main__":
    asyncio.run(main())

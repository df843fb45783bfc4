"""The first words with a model: a whole reply, then one as it comes.

python examples/10_ask_a_model.py
"""

import argparse
import asyncio

from tickmind.llm import CallConfig, Message
from tickmind.llm.local.default_model import DefaultModel, open_default_model, scripted_choice

BRIEF = CallConfig(temperature=0.7, max_tokens=120)


async def ask(model: DefaultModel) -> None:
    """Ask and wait for the whole reply."""
    messages = [
        Message.system("You are Ash, a shepherd. Answer in one short sentence."),
        Message.user("A stranger asks the way to the mill. What do you say?"),
    ]
    result = await model.client.complete(messages, BRIEF)
    print(f"Ash: {result.content.strip()}")
    print(f"     ({result.finish_reason}, {result.total_tokens} tokens, {result.timing.total_s:.2f} s)")


async def listen(model: DefaultModel) -> None:
    """Ask and read along; thinking comes apart from the answer."""
    print("Ash: ", end="")
    async with model.client.stream("Describe a meadow at dawn, in two sentences.", BRIEF) as stream:
        async for chunk in stream:
            print(chunk.content, end="", flush=True)
    result = await stream.result
    print(f"\n     (thought {len(result.thinking)} characters before it spoke)")


async def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripted", action="store_true", help="use a scripted double instead of a model")
    options = parser.parse_args()
    async with open_default_model(scripted_choice() if options.scripted else None) as model:
        print(model.choice.why)
        await ask(model)
        await listen(model)


if __name__ == "__main__":
    asyncio.run(main())

"""A decision as a typed object: fields as they complete, and a second try when the first reply can't be used.

python examples/11_structured_output.py
"""

import argparse
import asyncio
from typing import Literal

from pydantic import BaseModel, Field

from tickmind.llm import GAME_STATE
from tickmind.llm.local.default_model import open_default_model, scripted_choice

SITUATION = "You are a goblin guard. Two armed knights walk up to your gate and one of them is singing. What do you do?"

# What the double says: first something that doesn't fit, then, told why, something that does.
SCRIPT = [
    '{"action": "sing along", "courage": 40, "words": "La la la!"}',
    'Here you are:\n```json\n{"action": "hide", "courage": "15", "words": "Nobody is at home!",}\n```',
]


class Decision(BaseModel):
    """What the guard does."""

    action: Literal["fight", "hide", "talk"]
    courage: int = Field(ge=0, le=100, description="from 0 to 100")
    words: str = Field(description="what the guard says aloud")


async def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripted", action="store_true", help="use a scripted double instead of a model")
    options = parser.parse_args()
    async with open_default_model(scripted_choice() if options.scripted else None, script=SCRIPT) as model:
        print(model.choice.why)
        async with model.client.stream_structured(SITUATION, Decision, GAME_STATE) as stream:
            async for update in stream:
                for name, value in update.completed:
                    print(f"  attempt {update.attempt}, {name} is complete: {value!r}")
            result = await stream.result

    for error in result.errors:
        print(f"  (the model was told: {error})")
    decision = result.value  # a Decision, checked
    print(f"After {result.attempts} attempt(s) the guard will {decision.action}, courage {decision.courage}%.")
    print(f"“{decision.words}”")


if __name__ == "__main__":
    asyncio.run(main())

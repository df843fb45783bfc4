"""A villager that weighs its needs: eat, sleep or work, whatever speaks most for itself just now.

python examples/03_utility.py
"""

import argparse
from dataclasses import dataclass

from tickmind.ai import AIManager, Consideration, UtilityAgent, curves, make_utility_system
from tickmind.tick import Engine, TickContext, World


@dataclass
class Villager:
    """Needs from 0 (none) to 1 (urgent), and what was earned so far."""

    hunger: float = 0.2
    tiredness: float = 0.1
    coins: int = 0


def build() -> AIManager:
    """Say what speaks for each action."""
    ai = AIManager()
    ai.register_consideration("hunger", lambda world, eid: world.get(eid, Villager).hunger)
    ai.register_consideration("tiredness", lambda world, eid: world.get(eid, Villager).tiredness)
    ai.define_utility_action("eat", [Consideration("hunger", curves.logistic(steepness=12, midpoint=0.6))])
    ai.define_utility_action("sleep", [Consideration("tiredness", curves.power(3))])
    ai.define_utility_action(
        "work", [Consideration("hunger", curves.inverse()), Consideration("tiredness", curves.inverse(2))], weight=0.6
    )
    ai.define_utility_selector("villager", ["eat", "sleep", "work"])
    return ai


def live(world: World, ctx: TickContext, eid: int, action: str, score: float) -> None:
    """Do what was chosen, and let time take its toll."""
    villager = world.get(eid, Villager)
    villager.hunger = min(1.0, villager.hunger + 0.03)
    villager.tiredness = min(1.0, villager.tiredness + 0.02)
    match action:
        case "eat":
            villager.hunger = max(0.0, villager.hunger - 0.3)
        case "sleep":
            villager.tiredness = max(0.0, villager.tiredness - 0.2)
        case "work":
            villager.coins += 1
    bars = f"hunger {'#' * round(villager.hunger * 10):10}  tiredness {'#' * round(villager.tiredness * 10):10}"
    print(f"{ctx.tick_number:3} {action:6} ({score:.2f})  {bars}  coins {villager.coins}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=40, help="how many ticks to run (default: 40)")
    options = parser.parse_args()
    engine = Engine(seed=1)
    engine.world.spawn(Villager(), UtilityAgent("villager"))
    engine.add_system(make_utility_system(build(), on_select=live))
    engine.run(options.ticks)


if __name__ == "__main__":
    main()

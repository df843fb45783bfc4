"""A model of villagers whose answers the prompt alone decides."""

import hashlib

from tickmind.mind.options import read_menu


def chosen_by_prompt(prompt: str) -> str:
    """One of the options in a prompt, or a line where there are none."""
    number = int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=4).digest())
    options = read_menu(prompt)
    return options[number % len(options)] if options else f"It is {number % 97}."

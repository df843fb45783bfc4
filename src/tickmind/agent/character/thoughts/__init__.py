"""How the thoughts of characters are asked for: prompts, models, the strategic layer, and thoughts of a past."""

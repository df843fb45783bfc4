"""The arena: predators and prey on grassland with ponds. Examples 04 and later share it."""

"""Limits on the size of a world. Scenario files are checked against these."""

from tickmind.base import Limit

MAX_SEED = 2**63 - 1
MAX_SCENARIO_BYTES = Limit("size of the scenario file", 32_000_000, "bytes")
MAX_MAP_SIDE = Limit("side of the map", 4096, "tiles")
MAX_ACTORS = Limit("number of actors", 1_000_000)
MAX_OBJECTS = Limit("number of objects", 1_000_000)
MAX_KINDS = Limit("number of kinds of one sort", 250)  # one byte each
MAX_STATES = Limit("number of states of a kind", 250)
MAX_NAME_CHARS = Limit("length of a name", 100, "characters")
MAX_ITEM_CHARS = Limit("length of an item's name", 90, "characters")  # `inventory.` and the name is a name too
MAX_TEXT_CHARS = Limit("length of what is said", 500, "characters")
MAX_INVENTORY = Limit("number of items that one actor carries", 65_535)  # two bytes
MAX_GROUND = Limit("number of items of one kind on one tile at the beginning", 1_000_000)
MAX_RADIUS = Limit("radius of sight", 31, "tiles")
MAX_HEARING = Limit("radius of hearing", 255, "tiles")
MAX_TICKS = Limit("number of ticks that something takes", 1_000_000_000)
MAX_THINKING_TICKS = Limit("ticks that a reply of a model takes", 1000)
MAX_ZONES = Limit("number of zones of a world", 1000)
MAX_AREAS = Limit("number of rectangles of a zone", 64)
MAX_PROSE_CHARS = Limit("length of one text about a person or a place", 2000, "characters")
MAX_LINES = Limit("number of lines of one sort about a person", 32)
MAX_SPRITE_CHARS = Limit("length of a sprite, which is one sign", 12, "characters")
MAX_AGENT_SETTINGS = Limit("number of settings for the agent of one actor", 32)
MAX_AGENT_SETTING_CHARS = Limit("length of a setting for an agent", 200, "characters")
MAX_PERSONA_FILES = Limit("number of persona files of a scenario", 32)
MAX_PERSONA_FILE_BYTES = Limit("size of a persona file", 4_000_000, "bytes")
MAX_PEOPLE_CHARS = Limit("length of all texts about all actors", 16_000_000, "characters")
MAX_RECIPE_ITEMS = Limit("number of kinds of items that an action needs, consumes or yields", 30)
MAX_PRICES = Limit("number of kinds of items that a container buys or sells", 100)
MAX_DEPTH = Limit("nesting of a scenario file", 12)
MAX_TILED_BYTES = Limit("size of a Tiled map with its tilesets", 32_000_000, "bytes")
MAX_TILED_NODES = Limit("number of elements of a Tiled map with its tilesets", 500_000)
MAX_TILED_DEPTH = Limit("nesting of a Tiled map", 32)
MAX_TILED_LAYERS = Limit("number of layers of a Tiled map", 100)
MAX_TILED_CELLS = Limit("number of cells of all tile layers of a Tiled map", 200_000_000)
MAX_TILE_ART_BYTES = Limit("size of the picture of a Tiled map", 16_000_000, "bytes")
MAX_IMAGE_SIDE = Limit("side of an image of a tileset", 8192, "pixels")
MAX_TILED_SETS = Limit("number of tilesets of a Tiled map", 250)
MAX_TILED_TILES = Limit("number of different tiles in a layer of a Tiled map", 65_536)
MAX_TILED_MEANINGS = Limit("number of different meanings of tiles of a Tiled map", 10_000)

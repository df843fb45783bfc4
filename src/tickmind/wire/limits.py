"""How much of anything a message may hold. Whoever decodes checks it, so that no peer can make another one swell."""

from tickmind.base import Limit

MAX_REQUEST_BYTES = Limit("size of a message to the world", 4 * 1024 * 1024, "bytes")
MAX_REPLY_BYTES = Limit("size of a message from the world", 64 * 1024 * 1024, "bytes")

MAX_NAME_CHARS = Limit("length of a name", 100, "characters")
MAX_CONTROLLER_CHARS = Limit("length of a controller's name", 200, "characters")
MAX_SECRET_CHARS = Limit("length of a lease's secret", 200, "characters")
MAX_TEXT_CHARS = Limit("length of what is said", 500, "characters")
MAX_DETAIL_CHARS = Limit("length of a status in words", 500, "characters")
MAX_THOUGHT_CHARS = Limit("length of one text of a thought", 200_000, "characters")
MAX_DIRECTIVES_BYTES = Limit("size of a thought's directives", 65_536, "bytes")
MAX_DIRECTIVES_DEPTH = Limit("nesting of a thought's directives", 32)

MAX_TAGS = Limit("number of tags", 64)
MAX_EFFECTS = Limit("number of effects of one action", 64)
MAX_KINDS = Limit("number of kinds of one sort", 250)
MAX_STATES = Limit("number of states of a kind", 250)
MAX_STACKS = Limit("number of kinds of items in one place", 250)
MAX_SEEN = Limit("number of entities or objects in one observation", 8192)
MAX_EVENTS = Limit("number of events in one message", 32_768)
MAX_PAGE = Limit("number of entities in one page", 10_000)
MAX_FILTER_ITEMS = Limit("number of actors, regions or types in a filter", 1000)
MAX_PARTS = Limit("number of parts of one tick's observations", 4096)

MAX_MAP_SIDE = Limit("side of the map", 4096, "tiles")
MAX_RADIUS = Limit("radius of sight", 31, "tiles")
MAX_HEARING = Limit("radius of hearing", 255, "tiles")
MAX_ACTORS = Limit("number of actors", 1_000_000)
MAX_OBJECTS = Limit("number of objects", 1_000_000)
MAX_AMOUNT = Limit("number of items", 2_000_000_000)
MAX_NEED = Limit("energy or hunger", 1000)
MAX_DURATION_MS = Limit("duration", 86_400_000, "ms")

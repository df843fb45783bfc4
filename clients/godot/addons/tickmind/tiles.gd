# What an observation says about the tiles around its observer.
# Godot 3 and 4 read this script alike, so it names nothing that only one of them has.

const ASLEEP = 1

# Direction -> the step that it is. The x axis grows to the east and the y axis to the south, as on a screen.
const STEPS = {
	"DIRECTION_N": Vector2(0, -1),
	"DIRECTION_NE": Vector2(1, -1),
	"DIRECTION_E": Vector2(1, 0),
	"DIRECTION_SE": Vector2(1, 1),
	"DIRECTION_S": Vector2(0, 1),
	"DIRECTION_SW": Vector2(-1, 1),
	"DIRECTION_W": Vector2(-1, 0),
	"DIRECTION_NW": Vector2(-1, -1),
}


# Whether the observer sees a tile.
static func sees(observation: Dictionary, x: int, y: int) -> bool:
	return _bit(observation, "visible", x, y)


# Whether the observer sees a tile and could step on it, were it free of actors.
static func can_walk(observation: Dictionary, x: int, y: int) -> bool:
	return _bit(observation, "walkable", x, y)


# Whether the observer is asleep, and so can only wake up.
static func is_asleep(observation: Dictionary) -> bool:
	return observation.get("me", {}).get("statusBits", 0) & ASLEEP != 0


# Return the directions to tiles that could be stepped on now: in sight, walkable, and free of actors.
static func free_ways(observation: Dictionary) -> Array:
	var me = observation.get("me", {"x": 0, "y": 0})
	var taken = {}
	for other in observation.get("visibleEntities", []):
		taken[Vector2(other["x"], other["y"])] = true
	var ways = []
	for way in STEPS:
		var place = Vector2(me["x"], me["y"]) + STEPS[way]
		if not taken.has(place) and can_walk(observation, int(place.x), int(place.y)):
			ways.append(way)
	return ways


static func _bit(observation: Dictionary, bits: String, x: int, y: int) -> bool:
	var tiles = observation.get("visibleTiles", {})
	if not tiles.has(bits):
		return false
	var side = 2 * tiles["radius"] + 1
	var column = x - tiles["centreX"] + tiles["radius"]
	var row = y - tiles["centreY"] + tiles["radius"]
	if column < 0 or row < 0 or column >= side or row >= side:
		return false
	var place = row * side + column
	return place < 8 * tiles[bits].size() and (tiles[bits][place >> 3] >> (place & 7)) & 1 == 1

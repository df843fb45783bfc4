extends Node2D
## A character that goes about at random and greets those whom it meets, until you take it over with the arrow keys.
## WORLD_WS_URL and ENTITY_ID say which one, as for any agent: godot --path clients/godot, with --headless or without.

const Tiles = preload("res://addons/tickmind/tiles.gd")
const TILE := 24
const KEYS := {
	KEY_UP: "DIRECTION_N", KEY_RIGHT: "DIRECTION_E", KEY_DOWN: "DIRECTION_S", KEY_LEFT: "DIRECTION_W"
}

var _greeted := {}
var _is_played := false
var _way := "" # that the player wants to go

@onready var agent: Node = $Agent


func _ready() -> void:
	agent.url = OS.get_environment("WORLD_WS_URL") if OS.has_environment("WORLD_WS_URL") else agent.url
	agent.entity_id = OS.get_environment("ENTITY_ID") if OS.has_environment("ENTITY_ID") else agent.entity_id
	agent.controller_id = OS.get_environment("CONTROLLER_ID")
	agent.controlled.connect(func(_opened: Dictionary) -> void: _say("controlling %s" % agent.entity_id))
	agent.interrupted.connect(func(why: String) -> void: _say("waiting: %s" % why))
	agent.warned.connect(func(why: String) -> void: _say("warned: %s" % why))
	agent.refused.connect(_on_refused)
	agent.observed.connect(_on_observed)
	agent.connect_to_world()


func _unhandled_key_input(event: InputEvent) -> void:
	if event.is_pressed() and KEYS.has(event.keycode):
		_is_played = true
		_way = KEYS[event.keycode]


func _draw() -> void:
	if agent.observation.is_empty():
		return
	var me: Dictionary = agent.observation["me"]
	var radius: int = agent.observation["visibleTiles"]["radius"]
	for x in range(me["x"] - radius, me["x"] + radius + 1):
		for y in range(me["y"] - radius, me["y"] + radius + 1):
			if agent.sees(x, y):
				_fill(x, y, Color.DARK_OLIVE_GREEN if agent.can_walk(x, y) else Color.DIM_GRAY)
	for object in agent.observation["visibleObjects"]:
		_fill(object["x"], object["y"], Color.SADDLE_BROWN)
	for other in agent.observation["visibleEntities"]:
		_fill(other["x"], other["y"], Color.SKY_BLUE)
	_fill(me["x"], me["y"], Color.GOLD)


func _on_observed(observation: Dictionary) -> void:
	agent.act(_choose(observation))
	queue_redraw()


func _choose(observation: Dictionary) -> Dictionary:
	if Tiles.is_asleep(observation):
		return {"wake": {}}
	if _is_played:
		var way := _way
		_way = ""
		return {"wait": {}} if way == "" else {"move": {"direction": way}}
	for other in observation["visibleEntities"]:
		if not _greeted.has(other["entityId"]):
			_greeted[other["entityId"]] = true
			return {"say": {"text": "Hello, %s!" % other["entityId"]}}
	var ways := Tiles.free_ways(observation)
	return {"wait": {}} if ways.is_empty() else {"move": {"direction": ways.pick_random()}}


func _on_refused(why: String) -> void:
	_say("refused: %s" % why)
	if DisplayServer.get_name() == "headless":
		get_tree().quit(1)


func _fill(x: int, y: int, colour: Color) -> void:
	var me: Dictionary = agent.observation["me"]
	var place := get_viewport_rect().size / 2 + Vector2(x - me["x"], y - me["y"]) * TILE
	draw_rect(Rect2(place, Vector2(TILE - 1, TILE - 1)), colour)


func _say(words: String) -> void:
	$Words.text = words
	print(words)

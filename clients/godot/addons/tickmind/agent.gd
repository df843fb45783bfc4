class_name TickmindAgent
extends Node
## Controls one character of a tickmind world: takes the lease, keeps it, and connects again after breaks.
##
## [codeblock]
## func _ready() -> void:
##     $TickmindAgent.observed.connect(func(observation):
##         $TickmindAgent.act({"say": {"text": "This is tick %d." % observation["tickId"]}}))
## [/codeblock]
## Messages are dictionaries with the names of the JSON form; all of their fields are there. It goes on while the tree is
## paused, or the character would be lost.

## The character is under control. It comes again after each break.
signal controlled(opened: Dictionary)
## A tick begins: answer it with one [method act] before its [code]deadlineMs[/code] are over. Of several that came since
## the last frame of the game only the newest is told.
signal observed(observation: Dictionary)
## What the world says to an intent; whether it worked is in the [code]result[/code] of the next observation.
signal acknowledged(tick_id: int, accepted: bool, reason: String)
## Control is over for now; the agent tries again by itself.
signal interrupted(why: String)
## Control is over for good: another try would not help.
signal refused(why: String)
## The character was given back, after [method release].
signal released
## The endpoint did not understand a frame, and goes on.
signal warned(why: String)

const Session = preload("session.gd")
const Tiles = preload("tiles.gd")
const CONNECT_MS := 10_000 # until a connection is open
const RELEASE_MS := 2_000 # for the world's answer when the character is given back
const FRAME_BYTES := 16 * 1024 * 1024 # of a frame down; a world sends none that is longer
const FRAMES := 1024

enum State { IDLE, CONNECTING, CONTROLLING, WAITING, RELEASING }

## The world's WebSocket.
@export var url := "ws://127.0.0.1:8701/ws/v1"
## The character.
@export var entity_id := ""
## The agent's name for itself; [code]agent:[/code] and the character's id if it is empty.
@export var controller_id := ""
## Whether observations have the floors of the tiles.
@export var want_floors := false
## Whether to connect as soon as the node is ready.
@export var connects_by_itself := true

## The world's token, if it requires one. It is not exported: a secret does not belong in a scene's file.
var token := ""
## The connection's state.
var state := State.IDLE
## The newest observation; empty before the first one.
var observation := {}

var _session := Session.new()
var _socket: WebSocketPeer
var _is_open := false
var _due_ms := 0 # of what `state` waits for
var _beat_ms := 0 # of the next keep-alive
var _ending := {} # what the last frame said about the end


func _init() -> void:
	process_mode = Node.PROCESS_MODE_ALWAYS


func _ready() -> void:
	if connects_by_itself:
		connect_to_world()


func _exit_tree() -> void:
	if state == State.CONTROLLING:
		_send(_session.release())
		_socket.poll()
	_drop()
	state = State.IDLE


func _process(_delta: float) -> void:
	var now_ms := Time.get_ticks_msec()
	if state == State.WAITING and now_ms >= _due_ms:
		_connect()
	elif _socket != null:
		_poll(now_ms)


## Take the character, and keep it until [method release].
func connect_to_world() -> void:
	if state == State.IDLE:
		_session.entity_id = entity_id
		_session.controller_id = controller_id
		_session.token = token
		_session.want_floors = want_floors
		_session.failures = 0
		_connect()


## Send the intent for a tick, that of the newest observation if it is left out: [code]{"move": {"direction":
## "DIRECTION_N"}}[/code]. Return whether it was sent; [signal acknowledged] says what the world answers.
func act(intent: Dictionary, tick_id: int = -1) -> bool:
	if state != State.CONTROLLING:
		return false
	_send(_session.intent(observation.get("tickId", 0) if tick_id < 0 else tick_id, intent))
	return true


## Give the character back, and end the connection.
func release() -> void:
	if state == State.CONTROLLING:
		_send(_session.release())
		state = State.RELEASING
		_due_ms = Time.get_ticks_msec() + RELEASE_MS
	elif state != State.RELEASING and state != State.IDLE:
		_finish_release()


## Whether the observer sees a tile.
func sees(x: int, y: int) -> bool:
	return Tiles.sees(observation, x, y)


## Whether the observer sees a tile and could step on it, were it free of actors.
func can_walk(x: int, y: int) -> bool:
	return Tiles.can_walk(observation, x, y)


func _connect() -> void:
	_drop()
	state = State.CONNECTING
	_due_ms = Time.get_ticks_msec() + CONNECT_MS
	_socket = WebSocketPeer.new()
	_socket.supported_protocols = PackedStringArray([Session.SUBPROTOCOL])
	_socket.inbound_buffer_size = FRAME_BYTES
	_socket.max_queued_packets = FRAMES
	if _socket.connect_to_url(url) != OK:
		_give_up("%s is no address of a WebSocket, such as ws://127.0.0.1:8701/ws/v1" % url)


func _poll(now_ms: int) -> void:
	_socket.poll()
	var socket_state := _socket.get_ready_state()
	if socket_state == WebSocketPeer.STATE_OPEN and not _is_open:
		_is_open = true
		_send(_session.opening())
	var newest := {}
	while _socket != null and _socket.get_available_packet_count() > 0:
		var taken := _take(_socket.get_packet().get_string_from_utf8(), now_ms)
		newest = newest if taken.is_empty() else taken
	if not newest.is_empty() and state == State.CONTROLLING:
		observation = newest
		observed.emit(newest)
	if _socket == null:
		return # one of the signals, or the last frame, ended it
	if not _ending.is_empty() or socket_state == WebSocketPeer.STATE_CLOSED:
		_lose()
	elif state == State.CONNECTING and now_ms >= _due_ms:
		_ending = {"why": "%s did not answer within %d s" % [url, CONNECT_MS / 1000], "retry_after_ms": 0}
		_lose()
	elif state == State.RELEASING and now_ms >= _due_ms:
		_finish_release()
	elif state == State.CONTROLLING and now_ms >= _beat_ms:
		_send(_session.keep_alive())
		_beat_ms = now_ms + _session.ttl_ms / Session.LOOKS


## Take a frame, and return the observation that is in it, if there is one.
func _take(text: String, now_ms: int) -> Dictionary:
	var event: Dictionary = _session.take(JSON.parse_string(text))
	match event["kind"]:
		"controlled":
			state = State.CONTROLLING
			_beat_ms = now_ms + _session.ttl_ms / Session.LOOKS
			controlled.emit(event["opened"])
		"observed":
			return event["observation"]
		"acknowledged":
			acknowledged.emit(event["tick_id"], event["accepted"], event["reason"])
		"warned":
			warned.emit(event["why"])
		"ended":
			_ending = event
		"refused":
			_give_up(event["why"])
	return {}


func _send(frame: Dictionary) -> void:
	_socket.send_text(JSON.stringify(frame))


## The connection is over: wait, and try again.
func _lose() -> void:
	if state == State.RELEASING:
		_finish_release()
		return
	var why: String = _ending.get("why", "no connection to %s" % url)
	var wait_ms: int = _session.lose(_ending.get("retry_after_ms", 0), randf())
	_drop()
	state = State.WAITING
	_due_ms = Time.get_ticks_msec() + wait_ms
	interrupted.emit(why)


func _give_up(why: String) -> void:
	_drop()
	state = State.IDLE
	refused.emit(why)


func _finish_release() -> void:
	_drop()
	state = State.IDLE
	_session.lease_id = ""
	released.emit()


func _drop() -> void:
	if _socket != null:
		_socket.close()
		_socket = null
	_session.is_controlling = false
	_is_open = false
	_ending = {}

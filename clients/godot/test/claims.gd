# What holds of the part of the add-on that Godot 3 and 4 share. `run3.gd` and `run4.gd` call it with vectors that Python
# wrote: messages in the JSON form, and the same with all of their fields.

const Messages = preload("../addons/tickmind/messages.gd")
const Session = preload("../addons/tickmind/session.gd")
const Tiles = preload("../addons/tickmind/tiles.gd")

var failures = []
var count = 0


func run(vectors: Array) -> void:
	for vector in vectors:
		var message = Messages.read_message(vector["name"], vector["short"])
		claim(agrees(message, vector["whole"]), "reads " + str(vector["short"]).substr(0, 300))
	claim(vectors.size() > 50, "there are vectors")
	_reads_odd_values()
	_says_its_frames()
	_takes_control_and_loses_it()
	_tells_what_ends_it()
	_waits_longer_each_time()
	_reads_tiles()


func claim(holds: bool, what: String) -> void:
	count += 1
	if not holds:
		failures.append(what)


# Whether a message is what the vector says: bytes and numbers of 64 bits are texts there, other numbers fractions.
func agrees(ours, theirs) -> bool:
	if typeof(ours) == TYPE_DICTIONARY and typeof(theirs) == TYPE_DICTIONARY:
		for key in ours:
			if not theirs.has(key) or not agrees(ours[key], theirs[key]):
				return false
		return ours.size() == theirs.size()
	if typeof(ours) == TYPE_ARRAY and typeof(theirs) == TYPE_ARRAY:
		for place in range(min(ours.size(), theirs.size())):
			if not agrees(ours[place], theirs[place]):
				return false
		return ours.size() == theirs.size()
	if typeof(theirs) == TYPE_STRING and typeof(ours) == TYPE_INT:
		return str(ours) == theirs
	if typeof(theirs) == TYPE_STRING and typeof(ours) != TYPE_STRING:
		return ("" if ours.size() == 0 else Marshalls.raw_to_base64(ours)) == theirs
	return ours == theirs


func _reads_odd_values() -> void:
	claim(Messages.read_value("i", "9007199254740993") == 9007199254740993, "a number of 64 bits is exact")
	claim(Messages.read_value("r", "-Infinity") < 0 and Messages.read_value("r", 1.5) == 1.5, "fractions are read")
	for odd in [null, [], {}, "x", 3, true]:
		claim(Messages.read_message("Ack", odd).size() == 2, "what is no message is an empty one")
		Messages.read_message("SocketResponse", {"control": odd})
		Messages.read_message("SocketResponse", {"control": {"observation": odd}})
	var later = Messages.read_message("Ack", {"accepted": true, "later": 1})
	claim(later["accepted"] and later["reason"] == "REASON_UNSPECIFIED" and not later.has("later"), "later fields go")


func _says_its_frames() -> void:
	var session = Session.new()
	session.entity_id = "ada"
	var open = session.opening()["control"]["open"]
	claim(open["controllerId"] == "agent:ada" and open.size() == 2, "it has a name by itself")
	claim(not session.opening().has("token"), "no token is sent where there is none")
	session.token = "a-token"
	session.controller_id = "game"
	session.want_floors = true
	session.lease_id = "secret"
	open = session.opening()["control"]["open"]
	claim(session.opening()["token"] == "a-token", "the token stands beside the first frame")
	claim(open["controllerId"] == "game" and open["wantFloors"] and open["previousLeaseId"] == "secret", "it says all")
	claim(session.intent(7, {"wait": {}})["control"]["intent"]["tickId"] == "7", "an intent names its tick")


func _takes_control_and_loses_it() -> void:
	var session = Session.new()
	var event = session.take({"control": {"opened": {"lease": {"leaseId": "one", "ttlMs": 3000}}}})
	claim(event["kind"] == "controlled" and session.is_controlling, "it controls")
	claim(session.lease_id == "one" and session.ttl_ms == 3000, "it keeps the lease")
	event = session.take({"control": {"observation": {"tickId": "12", "me": {"entityId": "ada"}}}})
	claim(event["kind"] == "observed" and event["observation"]["tickId"] == 12, "it observes")
	event = session.take({"control": {"ack": {"tickId": "12", "ack": {"reason": "REASON_LATE_TICK"}}}})
	claim(event["kind"] == "acknowledged" and not event["accepted"], "it hears of refusals")
	claim(event["reason"] == "REASON_LATE_TICK" and event["tick_id"] == 12, "with tick and reason")
	session.lose(0, 1.0)
	claim(not session.is_controlling, "a break ends control")
	claim(session.opening()["control"]["open"]["previousLeaseId"] == "one", "and it takes its character back")


func _tells_what_ends_it() -> void:
	var session = Session.new()
	var held = session.take({"control": {"closed": {"reason": "REASON_LEASE_HELD", "retryAfterMs": 800}}})
	claim(held["kind"] == "ended" and held["retry_after_ms"] == 800, "a held lease is waited for")
	var unknown = session.take({"control": {"closed": {"reason": "REASON_UNKNOWN_ENTITY"}}})
	claim(unknown["kind"] == "refused", "an unknown entity is not tried again")
	var taken = {"control": {"closed": {"reason": "REASON_INVALID_LEASE"}}}
	claim(session.take(taken)["kind"] == "ended", "an old lease of a world that restarted is tried again")
	session.is_controlling = true
	claim(session.take(taken)["kind"] == "refused", "one who lost its character to another does not take it back")
	var away = {"error": {"code": "SOCKET_ERROR_CODE_UNREACHABLE", "message": "away", "ends": true}}
	claim(session.take(away)["kind"] == "ended", "a world that is away is tried again")
	var denied = {"error": {"code": "SOCKET_ERROR_CODE_NOT_ALLOWED", "message": "no", "ends": true}}
	claim(session.take(denied)["why"] == "no" and session.take(denied)["kind"] == "refused", "a wrong token is not")
	var bad = {"error": {"code": "SOCKET_ERROR_CODE_BAD_FRAME", "message": "bad"}}
	claim(session.take(bad)["kind"] == "warned", "a bad frame in between is told")
	for odd in [null, 1, "x", [], {}, {"control": {}}, {"watch": {}}]:
		claim(session.take(odd)["kind"] == "", "what it does not know is left alone")


func _waits_longer_each_time() -> void:
	var session = Session.new()
	var waits = []
	for _try in range(8):
		waits.append(session.lose(0, 1.0))
	claim(waits == [250, 500, 1000, 2000, 4000, 5000, 5000, 5000], "waits grow up to a limit: " + str(waits))
	claim(session.lose(0, 0.0) == 2500, "and are never quite the same")
	claim(session.lose(800, 1.0) == 1050, "the world's own wait counts, where it has one")
	claim(session.lose(3600000, 1.0) == 10250, "but no longer than a lease lasts")


func _reads_tiles() -> void:
	var tiles = {"radius": 1, "centreX": 5, "centreY": 7, "visible": "/wE=", "walkable": "EAA="}
	var me = {"entityId": "ada", "x": 5, "y": 7, "statusBits": 1}
	var seen = Messages.read_message("Observation", {"me": me, "visibleTiles": tiles})
	claim(Tiles.sees(seen, 4, 6) and Tiles.sees(seen, 6, 8) and not Tiles.sees(seen, 7, 7), "it sees the window")
	claim(Tiles.can_walk(seen, 5, 7) and not Tiles.can_walk(seen, 4, 7), "one bit for each tile, row by row")
	claim(Tiles.is_asleep(seen), "it knows that it sleeps")
	seen = Messages.read_message("Observation", {"me": me, "visibleTiles": {"radius": 1, "walkable": "/wE="}})
	claim(Tiles.free_ways(seen).size() == 0, "what is outside of the window is not free")
	tiles["walkable"] = "/wE="
	var others = [{"entityId": "bob", "x": 5, "y": 6}]
	seen = Messages.read_message("Observation", {"me": me, "visibleTiles": tiles, "visibleEntities": others})
	claim(Tiles.free_ways(seen).size() == 7 and not Tiles.free_ways(seen).has("DIRECTION_N"), "nobody walks into another")
	claim(not Tiles.sees({}, 0, 0) and not Tiles.is_asleep({}), "before the first observation it sees nothing")

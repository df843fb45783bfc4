# What the control of one character says and hears, without a socket and without a clock.
# Godot 3 and 4 read this script alike, so it names nothing that only one of them has.

const Messages = preload("messages.gd")

const SUBPROTOCOL = "tickmind.v1.json"
const LOOKS = 3 # keep-alives in the lifetime of a lease
const LONGEST_LEASE_WAIT_MS = 10000 # for a lease that another controller holds
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 5000
const FIRST_TTL_MS = 10000
const FATAL_ERRORS = ["SOCKET_ERROR_CODE_NOT_ALLOWED", "SOCKET_ERROR_CODE_BAD_FRAME", "SOCKET_ERROR_CODE_REFUSED"]

var entity_id = ""
var controller_id = ""
var token = ""
var want_floors = false
var lease_id = "" # a secret; with it the character is taken back at once after a break
var ttl_ms = FIRST_TTL_MS
var is_controlling = false
var failures = 0 # connections in a row that did not lead to control


# Return the first frame of a connection.
func opening() -> Dictionary:
	var open = {"entityId": entity_id, "controllerId": controller_id if controller_id != "" else "agent:" + entity_id}
	if lease_id != "":
		open["previousLeaseId"] = lease_id
	if want_floors:
		open["wantFloors"] = true
	var frame = {"control": {"open": open}}
	if token != "":
		frame["token"] = token
	return frame


# Return the frame that says what the character does in a tick.
func intent(tick_id: int, what: Dictionary) -> Dictionary:
	return {"control": {"intent": {"tickId": str(tick_id), "intent": what}}}


# Return the frame that keeps the lease; send it LOOKS times in `ttl_ms`.
func keep_alive() -> Dictionary:
	return {"control": {"keepAlive": {}}}


# Return the frame that gives the character back.
func release() -> Dictionary:
	return {"control": {"release": {}}}


# Take a frame of the endpoint, as JSON, and return what it is in `kind`:
#   "controlled" with `opened`, "observed" with `observation`, "acknowledged" with `tick_id`, `accepted` and `reason`,
#   "ended" with `why` and `retry_after_ms`: the connection is over, and another one may fare better,
#   "refused" with `why`: no other one would; "warned" with `why`: the connection goes on; "" with nothing of interest.
func take(json) -> Dictionary:
	var frame = Messages.read_message("SocketResponse", json)
	if frame.has("error"):
		return _take_error(frame["error"])
	var control = frame.get("control", {})
	if control.has("opened"):
		var lease = control["opened"].get("lease", {})
		lease_id = lease.get("leaseId", "")
		ttl_ms = max(1, lease.get("ttlMs", FIRST_TTL_MS))
		is_controlling = true
		failures = 0
		return {"kind": "controlled", "opened": control["opened"]}
	if control.has("observation"):
		return {"kind": "observed", "observation": control["observation"]}
	if control.has("ack"):
		var ack = control["ack"].get("ack", {"accepted": false, "reason": "REASON_UNSPECIFIED"})
		var tick_id = control["ack"]["tickId"]
		return {"kind": "acknowledged", "tick_id": tick_id, "accepted": ack["accepted"], "reason": ack["reason"]}
	if control.has("closed"):
		return _take_closed(control["closed"])
	return {"kind": ""}


# Note that the connection is over, and return how long to wait before the next one. `luck` is from 0 to 1.
func lose(retry_after_ms: int, luck: float) -> int:
	is_controlling = false
	var least_ms = min(retry_after_ms, LONGEST_LEASE_WAIT_MS)
	var doublings = 0 if least_ms > 0 else min(failures, 10)
	failures += 1
	return int(least_ms + min(LONGEST_WAIT_MS, FIRST_WAIT_MS * pow(2, doublings)) * (0.5 + 0.5 * luck))


func _take_error(error: Dictionary) -> Dictionary:
	if not error["ends"]:
		return {"kind": "warned", "why": error["message"]}
	if FATAL_ERRORS.has(error["code"]):
		return {"kind": "refused", "why": error["message"]}
	return {"kind": "ended", "why": error["message"], "retry_after_ms": error["retryAfterMs"]}


func _take_closed(closed: Dictionary) -> Dictionary:
	var reason = closed["reason"]
	if reason == "REASON_UNKNOWN_ENTITY":
		return {"kind": "refused", "why": "the world has no entity " + entity_id + "; choose one that it has"}
	if reason == "REASON_INVALID_LEASE" and is_controlling:
		return {"kind": "refused", "why": "another process has taken control of " + entity_id}
	return {"kind": "ended", "why": "the world ended control: " + str(reason), "retry_after_ms": closed["retryAfterMs"]}

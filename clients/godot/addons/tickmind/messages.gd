# Reads the JSON form of the schema's messages: what is left out gets its first value, and numbers become numbers.
# Godot 3 and 4 read this script alike, so it names nothing that only one of them has.

const Protocol = preload("protocol.gd")


# Return a message with all of its fields. Fields that this version does not know are dropped.
static func read_message(name: String, json) -> Dictionary:
	var given = json if typeof(json) == TYPE_DICTIONARY else {}
	var message = {}
	var fields = Protocol.FIELDS.get(name, {})
	for field in fields:
		var kind = fields[field]
		var value = given.get(field)
		if kind.begins_with("*"):
			var values = []
			for each in value if typeof(value) == TYPE_ARRAY else []:
				values.append(read_value(_without_mark(kind), each))
			message[field] = values
		elif kind.begins_with("?"):
			if value != null:
				message[field] = read_value(_without_mark(kind), value)
		else:
			message[field] = read_value(kind, value)
	return message


# Return one value of a kind; null stands for one that is left out.
static func read_value(kind: String, value):
	match kind:
		"s":
			return "" if value == null else str(value)
		"f":
			return typeof(value) == TYPE_BOOL and value
		"i":
			return _number(value, 0)
		"r":
			return _number(value, 0.0)
		"b":
			return Marshalls.base64_to_raw("" if value == null else str(value).replace("-", "+").replace("_", "/"))
	if Protocol.FIELDS.has(kind):
		return read_message(kind, value)
	return Protocol.FIRST_VALUES.get(kind.substr(1, kind.length() - 1), "") if value == null else value


# Numbers of 64 bits are texts in this form, and so are the fractions that JSON does not have.
static func _number(value, first):
	if value == null or typeof(value) == TYPE_DICTIONARY or typeof(value) == TYPE_ARRAY:
		return first
	if typeof(first) == TYPE_INT:
		return int(value)
	match value:
		"Infinity":
			return INF
		"-Infinity":
			return -INF
		"NaN":
			return NAN
	return float(value)


static func _without_mark(kind: String) -> String:
	return kind.substr(1, kind.length() - 1)

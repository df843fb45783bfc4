extends SceneTree
# Runs the claims in Godot 3; CLIENT_VECTORS names the file with the vectors.


func _init():
	var file = File.new()
	file.open(OS.get_environment("CLIENT_VECTORS"), File.READ)
	var claims = preload("claims.gd").new()
	claims.run(parse_json(file.get_as_text()))
	for failure in claims.failures:
		print("failed: ", failure)
	print("%d claims, %d failed" % [claims.count, claims.failures.size()])
	quit(1 if claims.failures.size() > 0 else 0)

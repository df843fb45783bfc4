extends SceneTree
# Runs the claims in Godot 4; CLIENT_VECTORS names the file with the vectors.


func _init() -> void:
	var claims := preload("claims.gd").new()
	claims.run(JSON.parse_string(FileAccess.get_file_as_string(OS.get_environment("CLIENT_VECTORS"))))
	for failure: String in claims.failures:
		print("failed: ", failure)
	print("%d claims, %d failed" % [claims.count, claims.failures.size()])
	quit(1 if claims.failures.size() > 0 else 0)

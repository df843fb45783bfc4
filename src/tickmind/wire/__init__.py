"""How worlds and agents talk: generated protobuf code, the codec between it and `protocol`, and typed clients.

`tickmind.wire.services` tells what each call promises.
"""

"""The live log: segments of frames, their codecs, and repair after a crash."""

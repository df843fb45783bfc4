"""Behaves like a llama.cpp server as far as starting, health and ending go. FAKE_MODE says how it misbehaves."""

import argparse
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SAVED = b"what was read"
MODE = os.environ.get("FAKE_MODE", "")


def say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    key = ""
    saved = Path()

    def do_GET(self) -> None:
        self.answer(503 if MODE == "never-ready" else 200, {"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {self.key}":
            self.answer(401, {"error": "Invalid API Key"})
            return
        if MODE == "no-usage":
            self.answer(200, {"choices": []})
            return
        if self.path.startswith("/slots/"):
            self.keep_or_recall(self.saved / body["filename"], self.path.partition("?action=")[2])
            return
        say("request", json.dumps(body))
        self.answer(200, {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}})

    def keep_or_recall(self, path: Path, action: str) -> None:
        if action == "save":
            path.write_bytes(SAVED)
            self.answer(200, {"n_saved": 9})
        elif path.read_bytes() == SAVED:
            self.answer(200, {"n_restored": 9})
        else:
            self.answer(400, {"error": "Unable to restore slot"})

    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--api-key-file", type=Path)
    parser.add_argument("--slot-save-path", type=Path, default=Path())
    options, _rest = parser.parse_known_args()
    if life := os.environ.get("FAKE_LIFE"):
        os.open(life, os.O_WRONLY)  # held until the very end, so that a reader sees when that is
    if MODE == "exit":
        say("failed to load the model: it is made of cheese")
        sys.exit(3)
    if MODE == "illegal":
        os.kill(os.getpid(), signal.SIGILL)
    if MODE == "silent":
        time.sleep(3600)
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Handler.key = options.api_key_file.read_text()
    Handler.saved = options.slot_save_path
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if MODE == "chatty":
        for number in range(5000):
            say(f"line {number} " + "x" * 500)
    say("niceness", str(os.nice(0)))
    say("arguments", json.dumps(sys.argv[1:]))
    say("environment", json.dumps(dict(os.environ)))
    say(f"main: server is listening on http://127.0.0.1:{server.server_port} - starting the main loop")
    while True:
        signal.pause()


main()

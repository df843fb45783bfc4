"""A llama.cpp server as far as a trial needs one. Its first argument says how it behaves."""

import argparse
import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

MODE = sys.argv[1]
SPEEDS = {"fast": (100.0, 20.0), "reads-fast": (200.0, 2.0)}  # tokens a second, read and written
ANSWERS = {"wrong": " 7, 7, 7, 7, 7,", "mute": ""}


class Handler(BaseHTTPRequestHandler):
    key = ""

    def do_GET(self) -> None:
        self.answer({"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["Authorization"] == f"Bearer {self.key}"
        if MODE == "illegal-when-asked":
            os.kill(os.getpid(), signal.SIGILL)
        if MODE == "hangs-when-asked":
            sys.stdout.write("asked\n")
            sys.stdout.flush()
            time.sleep(3600)
        read, written = SPEEDS.get(MODE, (50.0, 10.0))
        timings = {"prompt_n": 60, "prompt_ms": 60_000 / read, "predicted_n": 12, "predicted_ms": 12_000 / written}
        reply = {"content": ANSWERS.get(MODE, " 21, 22, 23,"), "prompt": body["prompt"], "timings": timings}
        if MODE == "no-timings":
            del reply["timings"]
        self.answer(reply)

    def answer(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
        pass


def main() -> None:
    if MODE == "illegal":
        os.kill(os.getpid(), signal.SIGILL)
    if MODE == "no-library":
        sys.stderr.write("llama-server: error while loading shared libraries: libgomp.so.1: cannot open it\n")
        sys.exit(127)
    if MODE == "no-import":
        sys.exit("ImportError: libgomp.so.1: cannot open shared object file: No such file or directory")
    if MODE == "hangs":
        time.sleep(3600)
    parser = argparse.ArgumentParser()
    parser.add_argument("--api-key-file", type=Path)
    options, _rest = parser.parse_known_args()
    Handler.key = options.api_key_file.read_text()
    server = HTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"listening on http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


main()

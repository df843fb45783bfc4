"""A whole agent that uses nothing but Python's standard library: what a program in any language has to do.

It speaks the JSON form over the world's WebSocket and keeps the launch contract. It walks about at random.
"""

import base64
import json
import os
import random
import signal
import socket
import ssl
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any

STEPS = {"DIRECTION_N": (0, -1), "DIRECTION_E": (1, 0), "DIRECTION_S": (0, 1), "DIRECTION_W": (-1, 0)}


class WebSocket:
    """The client's side of RFC 6455, for text frames."""

    def __init__(self, url: str, ca: str | None) -> None:
        parts = urllib.parse.urlsplit(url)
        secure = parts.scheme == "wss"
        self.tcp = socket.create_connection((parts.hostname, parts.port or (443 if secure else 80)), timeout=10)
        if secure:  # it checks the certificate and the host's name
            self.tcp = ssl.create_default_context(cafile=ca).wrap_socket(self.tcp, server_hostname=parts.hostname)
        self.received = b""
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        head += (
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: tickmind.v1.json\r\n\r\n"
        )
        self.tcp.sendall(head.encode())
        while b"\r\n\r\n" not in self.received:
            self._read_more()
        answer, _, self.received = self.received.partition(b"\r\n\r\n")
        if b" 101 " not in answer.split(b"\r\n")[0]:
            raise OSError("the world's WebSocket refused the connection")

    def send(self, frame: object, opcode: int = 1) -> None:
        """Send a frame, masked as a client must."""
        data = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
        size, mask = len(data), os.urandom(4)
        length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + size.to_bytes(2, "big")
        self.tcp.sendall(bytes([0x80 | opcode]) + length + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next message; None if there is none in time."""
        self.tcp.settimeout(timeout_s)
        text = b""
        while True:
            try:
                self._need(2)
            except TimeoutError:
                return None
            first, size, at = self.received[0], self.received[1] & 0x7F, 2
            if size > 125:
                at = 4 if size == 126 else 10
                self._need(at)
                size = int.from_bytes(self.received[2:at], "big")
            self._need(at + size)
            data, self.received = self.received[at : at + size], self.received[at + size :]
            if first & 0x0F == 9:
                self.send(data, opcode=10)  # a ping wants its pong
            elif first & 0x0F == 8:
                raise OSError("the world's WebSocket closed the connection")
            elif first & 0x0F in (0, 1):
                text += data
                if first & 0x80:
                    message: dict[str, Any] = json.loads(text)
                    return message

    def _need(self, size: int) -> None:
        while len(self.received) < size:
            self._read_more()

    def _read_more(self) -> None:
        data = self.tcp.recv(65_536)
        if not data:
            raise OSError("the connection is gone")
        self.received += data


def act(observation: dict[str, Any]) -> dict[str, Any]:
    """Choose a step; what is zero, empty or false is left out of the JSON form."""
    me, tiles = observation["me"], observation["visibleTiles"]
    if me.get("statusBits", 0) & 1:
        return {"wake": {}}
    side, bits = 2 * tiles["radius"] + 1, base64.b64decode(tiles["walkable"])

    def is_free(step: tuple[int, int]) -> bool:
        x = me.get("x", 0) - tiles.get("centreX", 0) + tiles["radius"] + step[0]
        y = me.get("y", 0) - tiles.get("centreY", 0) + tiles["radius"] + step[1]
        place = y * side + x
        return bool(bits[place // 8] >> place % 8 & 1)

    ways = [way for way, step in STEPS.items() if is_free(step)]
    return {"move": {"direction": random.choice(ways)}} if ways else {"wait": {}}


def present_token(launch: dict[str, Any], given: str) -> str:
    """Return the world's token; one that is in a file may be another one each time."""
    if "world_token_file" not in launch:
        return given
    lines = [line.strip() for line in Path(launch["world_token_file"]).read_text(encoding="utf-8").splitlines()]
    return next(line.rpartition(" ")[2] for line in lines if line and not line.startswith("#"))


def live(launch: dict[str, Any], lease_id: str, given: str) -> str:
    """Control the entity over one connection, until it breaks; return the lease for the next one."""
    token = present_token(launch, given)
    world = WebSocket(os.environ["WORLD_WS_URL"], launch.get("tls", {}).get("ca"))
    opening = {"entityId": os.environ["ENTITY_ID"], "controllerId": os.environ["CONTROLLER_ID"]}
    world.send({"control": {"open": {**opening, "previousLeaseId": lease_id}}, "token": token})
    wait_s = 10.0
    try:
        while True:
            message = world.receive(wait_s) or {}
            if "error" in message:
                print(message["error"].get("message"), file=sys.stderr)
            frame = message.get("control", {})
            if "opened" in frame:
                lease_id, wait_s = frame["opened"]["lease"]["leaseId"], frame["opened"]["lease"]["ttlMs"] / 3000
            elif "observation" in frame:
                seen = frame["observation"]
                world.send({"control": {"intent": {"tickId": seen["tickId"], "intent": act(seen)}}})
            elif "closed" in frame:
                if frame["closed"].get("reason") == "REASON_UNKNOWN_ENTITY":
                    sys.exit(f"the world has no entity {os.environ['ENTITY_ID']}")
                if frame["closed"].get("reason") == "REASON_INVALID_LEASE":
                    sys.exit("another process has taken the entity")
                time.sleep(min(frame["closed"].get("retryAfterMs", 0) / 1000, 10))
                return lease_id
            elif not frame:
                world.send({"control": {"keepAlive": {}}})  # nothing was said for a third of the lease
    except OSError as error:
        print(f"the connection is over: {error}", file=sys.stderr)
        return lease_id
    except SystemExit:
        world.send({"control": {"release": {}}})
        world.tcp.shutdown(socket.SHUT_WR)  # what was sent arrives before the end
        while world.tcp.recv(65_536):
            pass
        raise


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    secrets: dict[str, str] = {}
    if os.environ.get("AGENT_SECRETS_FD"):
        with os.fdopen(int(os.environ["AGENT_SECRETS_FD"])) as file:
            secrets = json.load(file)
    launch: dict[str, Any] = {}
    if os.environ.get("AGENT_CONFIG_PATH"):
        launch = json.loads(Path(os.environ["AGENT_CONFIG_PATH"]).read_text(encoding="utf-8"))
    lease, wait_s = "", 0.25
    while True:
        began_s = time.monotonic()
        try:
            lease = live(launch, lease, secrets.get("WORLD_TOKEN", ""))
        except OSError as error:
            print(f"can't reach the world: {error}", file=sys.stderr)
        wait_s = 0.25 if time.monotonic() - began_s > 5 else min(2 * wait_s, 5)
        time.sleep(wait_s * random.uniform(0.5, 1))

"""The endpoint of a world: its address, TLS and token."""

import ipaddress
import re
from dataclasses import dataclass, field

from tickmind.base import Secret
from tickmind.base.access.tls_files import TlsFiles, read_certificates, read_key
from tickmind.base.access.token_file import TokenFile
from tickmind.wire.errors import WireConfigError
from tickmind.wire.messages.limits import MAX_CONNECTION_CALLS, MAX_PENDING_CALLS, MAX_REPLY_BYTES, MAX_REQUEST_BYTES

_HOST_PORT = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})")
_RECONNECT_MIN_MS, _RECONNECT_MAX_MS = 100, 5_000
_PING_MS, _PING_TIMEOUT_MS, _PING_TOLERATED_MS = 30_000, 10_000, 10_000

Options = list[tuple[str, int | str]]


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificates as PEM text. Without `root_certificates` the system's are trusted."""

    root_certificates: bytes | None = None
    certificate_chain: bytes | None = None  # the client's own, if the world requires one
    private_key: bytes | None = field(default=None, repr=False)
    server_name: str = ""  # the name in the world's certificate, if it is not the host's

    @classmethod
    def load(cls, files: TlsFiles) -> "Tls":
        """Read the files; raises `ConfigError` for one that can't be used."""
        files.check()
        chain = None if files.certificate is None else read_certificates(files.certificate)
        key = None if files.key is None else read_key(files.key)
        return cls(read_certificates(files.ca), chain, key, files.server_name)


@dataclass(frozen=True, slots=True)
class WorldEndpoint:
    """The address of a world (`host:port` or `unix:/path`) and its credentials.

    Lease secrets travel in messages, so any other machine needs `tls`. Of a token file each call sends the newest.
    Raises `WireConfigError` if `tls` is missing for another machine, or `timeout_s` is not more than 0.
    """

    address: str
    tls: Tls | None = None
    token: Secret | TokenFile | None = None
    timeout_s: float = 10.0  # of one plain call, and of opening a stream

    def __post_init__(self) -> None:
        if self.timeout_s <= 0:
            raise WireConfigError(f"timeout_s must be more than 0, not {self.timeout_s}")
        if not is_local(self.address) and self.tls is None:
            raise WireConfigError(
                f"{self.address} is not on this machine, so leases and tokens would travel in the clear; set tls "
                "(--world-ca, or `tls` in a mapping)"
            )

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of a call that is made now."""
        return (("authorization", f"Bearer {token.reveal()}"),) if (token := self.present_token()) else ()

    def present_token(self) -> Secret | None:
        """Return the token that a call sends now, if there is one."""
        return self.token.newest() if isinstance(self.token, TokenFile) else self.token


def is_local(address: str) -> bool:
    """Whether an address never leaves this machine; raises `WireConfigError` for an invalid address."""
    if address.startswith("unix:"):
        if len(address) <= len("unix:"):
            raise WireConfigError("the address of a Unix socket is unix: and a path, as in unix:/run/world.sock")
        return True
    match = _HOST_PORT.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise WireConfigError(f"{address!r} is no address; write host:port, [IPv6 address]:port or unix:/path")
    host = match["six"] or match["host"]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        if match["six"]:
            raise WireConfigError(f"{host!r} is no IPv6 address") from None
        return host.lower() == "localhost"


def client_options(connection: WorldEndpoint) -> Options:
    """Return the options of a client's channel: size limits, and no retries by gRPC itself."""
    options: Options = [
        ("grpc.max_send_message_length", int(MAX_REQUEST_BYTES.maximum)),
        ("grpc.max_receive_message_length", int(MAX_REPLY_BYTES.maximum)),
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),  # the caller decides what may be retried
        ("grpc.initial_reconnect_backoff_ms", _RECONNECT_MIN_MS),
        ("grpc.max_reconnect_backoff_ms", _RECONNECT_MAX_MS),
        ("grpc.keepalive_time_ms", _PING_MS),
        ("grpc.keepalive_timeout_ms", _PING_TIMEOUT_MS),
        ("grpc.http2.max_pings_without_data", 0),  # no limit: a world that stands still sends nothing
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if connection.tls and connection.tls.server_name:
        options.append(("grpc.ssl_target_name_override", connection.tls.server_name))
    return options


def server_options() -> Options:
    """Return the options of a world's server that match `client_options`."""
    return [
        ("grpc.max_send_message_length", int(MAX_REPLY_BYTES.maximum)),
        ("grpc.max_receive_message_length", int(MAX_REQUEST_BYTES.maximum)),
        ("grpc.http2.min_ping_interval_without_data_ms", _PING_TOLERATED_MS),
        ("grpc.keepalive_time_ms", _PING_MS),
        ("grpc.keepalive_timeout_ms", _PING_TIMEOUT_MS),
        ("grpc.so_reuseport", 0),  # a taken port is an error, not shared
        # Let a flood wait at its own end: all connections share one queue of calls not read yet.
        ("grpc.max_concurrent_streams", int(MAX_CONNECTION_CALLS.maximum)),
        # Beyond these gRPC drops calls at random, including lease renewals.
        ("grpc.server.max_pending_requests", int(MAX_PENDING_CALLS.maximum)),
        ("grpc.server.max_pending_requests_hard_limit", int(MAX_PENDING_CALLS.maximum)),
    ]

"""Checks of addresses of caller-named endpoints, so that no caller reaches into the operator's network."""

import ipaddress
from typing import Final

from tickmind.llm.safety import is_loopback

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# network -> what it is; the special networks of IPv4, none of which has public hosts
_SPECIAL_V4: Final = tuple(
    (ipaddress.IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared (CGNAT)"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_GLOBAL_V6: Final = ipaddress.IPv6Network("2000::/3")  # all public hosts are in it
_SPECIAL_V6: Final = tuple(
    (ipaddress.IPv6Network(network), what)
    for network, what in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "an IPv4-mapped address"),
        ("::ffff:0:0:0/96", "an IPv4-translated address"),
        ("::/96", "an IPv4-compatible address"),
        ("64:ff9b::/96", "NAT64"),
        ("64:ff9b:1::/48", "NAT64"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_ISATAP: Final = (0x00005EFE, 0x02005EFE)  # third quarter of an address that embeds an IPv4 address
# Metadata services, where clouds hand out a machine's credentials: forbidden even if an operator lists them.
_METADATA: Final = frozenset(
    ipaddress.ip_address(address)
    for address in (
        "100.100.100.200",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.170.2",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)
_PRIVATE_NETWORKS: Final = ("loopback", "private", "shared (CGNAT)")


def special_kind(address: Address) -> str:
    """Return the kind of a non-public address (`loopback`, `private`, ...); empty if it is public."""
    if address in _METADATA:
        return "a cloud's metadata service"
    if isinstance(address, ipaddress.IPv4Address):
        return next((what for network, what in _SPECIAL_V4 if address in network), "")
    if address.scope_id is not None:
        return "bound to a network interface"
    for network, what in _SPECIAL_V6:
        if address in network:
            return what
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "ISATAP"
    return "" if address in _GLOBAL_V6 else "reserved"


def is_own_network(host: str) -> bool:
    """Whether a host is this machine or, by its address or a name without a dot, in the same network."""
    if is_loopback(host):
        return True
    try:
        return special_kind(ipaddress.ip_address(host)) in _PRIVATE_NETWORKS
    except ValueError:
        return "." not in host or host.endswith(".local")


def forbidden_kind(address: Address, *, private: bool) -> str:
    """Return why an address may not be dialled, empty if it may. `private`: the operator's own network is meant."""
    kind = special_kind(address)
    return "" if private and kind in _PRIVATE_NETWORKS else kind

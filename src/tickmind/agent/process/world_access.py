"""How a process reaches its world: the address, the certificates and the token that it was launched with."""

from collections.abc import Mapping

from tickmind.agent.contract import WORLD_TOKEN, Launch
from tickmind.agent.errors import LaunchError
from tickmind.base import ConfigError, Secret
from tickmind.base.access.token_file import TokenFile
from tickmind.wire import Tls, WorldEndpoint


def world_endpoint_of(launch: Launch, secrets: Mapping[str, Secret]) -> WorldEndpoint:
    """Return the endpoint of a launch; raises `LaunchError` for files that can't be used.

    The token is that of the token file, which may be exchanged meanwhile, else that of the secrets.
    """
    try:
        token = secrets.get(WORLD_TOKEN) if launch.world_token_file is None else TokenFile(launch.world_token_file)
        tls = None if launch.tls is None else Tls.load(launch.tls)
        return WorldEndpoint(launch.world_addr, tls=tls, token=token)
    except ConfigError as error:
        raise LaunchError(str(error)) from None

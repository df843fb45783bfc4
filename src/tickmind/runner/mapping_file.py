"""A mapping file that may change while it is in use."""

from dataclasses import replace
from pathlib import Path

from tickmind.agent.contract import KeptReplies
from tickmind.base import ConfigError, get_logger
from tickmind.base.access.tls_files import TlsFiles
from tickmind.base.files import file_stamp
from tickmind.runner.mapping import load_mapping
from tickmind.runner.spec import RunnerMapping, SecretSource

_log = get_logger(__name__)


class MappingFile:
    """Rereads a mapping file when it has changed.

    `world_addr`, `gateway_url`, `tls` and `world_token_file` override the file's.

    A `world_ws_url` of the file is kept, since it may lead to another endpoint of the same world.

    `replies` keeps or plays the calls of the agents' models.
    """

    def __init__(
        self,
        path: Path,
        *,
        world_addr: str = "",
        gateway_url: str = "",
        replies: KeptReplies | None = None,
        tls: TlsFiles | None = None,
        world_token_file: Path | None = None,
    ) -> None:
        self.path = path
        self._tls = tls
        self._world_token = None if world_token_file is None else SecretSource(file=world_token_file)
        self._replies = replies
        self.world_addr = world_addr
        self.gateway_url = gateway_url
        self.world_ws_url = ""
        self._read_of = file_stamp(self.path)
        self.mapping = self._load()

    def settle(self, world_addr: str, gateway_url: str = "", world_ws_url: str = "") -> RunnerMapping:
        """Return the mapping with addresses that are known only now; they hold for later versions too."""
        self.world_addr, self.gateway_url = world_addr, gateway_url or self.gateway_url
        self.world_ws_url = world_ws_url or self.world_ws_url
        self.mapping = self._with_addresses(self.mapping)
        return self.mapping

    def reload(self, *, even_if_same: bool = False) -> RunnerMapping | None:
        """Return the new mapping, or None if it is unchanged or invalid; errors are logged.

        A running world can't be exchanged for another.
        """
        stamp = file_stamp(self.path)
        if stamp == self._read_of and not even_if_same:
            return None
        self._read_of = stamp
        try:
            mapping = self._load()
        except ConfigError as error:
            _log.error("the mapping has errors; keeping the one before", mistakes=str(error))
            return None
        if mapping.world_addr != self.mapping.world_addr:
            _log.error("the mapping names another world; restart the runner for that. Keeping the one before")
            return None
        self.mapping = mapping
        return mapping

    def _load(self) -> RunnerMapping:
        return self._with_addresses(load_mapping(self.path))

    def _with_addresses(self, mapping: RunnerMapping) -> RunnerMapping:
        return replace(
            mapping,
            world_addr=self.world_addr or mapping.world_addr,
            gateway_url=self.gateway_url or mapping.gateway_url,
            world_ws_url=mapping.world_ws_url or self.world_ws_url,
            replies=self._replies,
            tls=self._tls or mapping.tls,
            world_token=self._world_token or mapping.world_token,
        )

"""`LeaseFile`: keeps the secret of the lease, so that a restarted process takes its entities back at once."""

import json
from contextlib import suppress
from pathlib import Path

from tickmind.agent.errors import LaunchError
from tickmind.base import Secret, get_logger
from tickmind.base.files import PRIVATE_MODE, read_at_most, replace_file

FILE_NAME = "lease.json"
_PRIVATE_FOLDER = 0o700
_MOST_BYTES = 65_536  # of the file; a longer one is not ours
_log = get_logger(__name__)


class LeaseFile:
    """One small file in the state folder; without a folder nothing is kept.

    It is valid for one world and one controller: what another one left there is ignored.
    """

    def __init__(self, state_dir: Path | None, world_addr: str, controller_id: str) -> None:
        self._path = None if state_dir is None else state_dir / FILE_NAME
        self._owner = {"world_addr": world_addr, "controller_id": controller_id}
        if state_dir is not None:
            try:
                state_dir.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
                state_dir.chmod(_PRIVATE_FOLDER)
            except OSError as error:
                raise LaunchError(f"can't use the state folder {state_dir}: {error.strerror}") from None

    def read(self) -> Secret | None:
        """Return the kept secret, if there is one."""
        if self._path is None:
            return None
        try:
            content = json.loads(read_at_most(self._path, _MOST_BYTES))
            kept = {name: content[name] for name in self._owner}
            secret = content["lease_id"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            _log.warning("can't read the lease file; requesting a new lease", path=str(self._path))
            return None
        return Secret(secret) if kept == self._owner and isinstance(secret, str) else None

    def keep(self, secret: Secret) -> None:
        """Write a secret. If that fails, a crash costs the rest of the lease's time, and nothing else."""
        if self._path is None:
            return
        try:
            content = json.dumps({**self._owner, "lease_id": secret.reveal()}).encode()
            replace_file(self._path, content, mode=PRIVATE_MODE)
        except OSError as error:
            _log.warning("can't write the lease file", path=str(self._path), why=error.strerror)

    def forget(self) -> None:
        """Delete the secret of a released lease."""
        if self._path is not None:
            with suppress(FileNotFoundError):
                self._path.unlink()

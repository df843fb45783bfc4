"""The warden: one small process that starts and keeps all others of a runner, so that none is left behind."""

from tickmind.runner.warden.client import Child, Command, Warden
from tickmind.runner.warden.isolation import Isolation
from tickmind.runner.warden.order import Bounds, Ending

__all__ = ["Bounds", "Child", "Command", "Ending", "Isolation", "Warden"]

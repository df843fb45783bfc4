"""The viewer: serves the page, and turns live events or a recorded run into the same frames.

    async with LiveSource(WorldClient("127.0.0.1:50051")) as source, ViewerServer(source) as server:
        print(server.url)

Import `LiveSource` from `tickmind.viewer.sources.live`, `ReplaySource` from `tickmind.viewer.sources.replay` and
`ViewerServer` from `tickmind.viewer.server`: each needs packages that the others don't.
"""

from tickmind.viewer.errors import (
    BrowserError,
    FrameError,
    NoSuchWindowError,
    PageMissingError,
    RunLabError,
    ViewerAddressError,
    ViewerError,
)
from tickmind.viewer.sources.source import FrameSource, Span

__all__ = [
    "BrowserError",
    "FrameError",
    "FrameSource",
    "NoSuchWindowError",
    "PageMissingError",
    "RunLabError",
    "Span",
    "ViewerAddressError",
    "ViewerError",
]

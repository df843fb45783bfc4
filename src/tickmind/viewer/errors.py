"""What can go wrong with the viewer.

ViewerError
├── FrameError         bytes that are no frame of this version
├── PageMissingError   the page was not built; the message says how
├── NoSuchWindowError  ticks that are not there, or no longer
├── BrowserError       the browser that draws pictures is missing, or does not do what it is told
└── ViewerAddressError an address that can't be listened on, or not without more protection
"""

from tickmind.base import TickmindError


class ViewerError(TickmindError):
    """The viewer can't do what it was asked for."""


class FrameError(ViewerError):
    """Bytes that are no frame of this version."""


class PageMissingError(ViewerError):
    """The page was not built."""


class NoSuchWindowError(ViewerError):
    """Ticks that are not there, or no longer."""


class BrowserError(ViewerError):
    """The browser that draws pictures is missing, or does not do what it is told."""


class ViewerAddressError(ViewerError):
    """An address that can't be listened on, or not without more protection."""

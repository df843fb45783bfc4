"""Errors of the viewer.

ViewerError
├── FrameError         bytes that are no frame of this version
├── PageMissingError   the page was not built; the message says how
├── NoSuchWindowError  the requested ticks do not exist, or not any more
├── NoWholeMindError   a mind can't be lived again
├── RunLabError        a run can't be branched, compared or asked
├── BrowserError       the browser that draws pictures is missing or failed
└── ViewerAddressError an address that can't be used, or not without more protection
"""

from tickmind.base import TickmindError


class ViewerError(TickmindError):
    """The viewer can't answer a request."""


class FrameError(ViewerError):
    """The bytes are no frame of this version."""


class PageMissingError(ViewerError):
    """The page was not built."""


class NoSuchWindowError(ViewerError):
    """The requested ticks do not exist, or not any more."""


class NoWholeMindError(ViewerError):
    """A mind can't be lived again."""


class RunLabError(ViewerError):
    """A run can't be branched, compared or asked."""


class BrowserError(ViewerError):
    """The browser that draws pictures is missing or failed."""


class ViewerAddressError(ViewerError):
    """An address can't be used, or not without more protection."""

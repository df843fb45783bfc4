"""The command line: the only place where all parts are wired together."""

import signal
import sys

__all__ = ["main"]
EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the program, and exit with its code. Ctrl-C ends it without a traceback at any time, also during imports."""
    try:
        from tickmind.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left that needs an orderly end

"""`python -m tickmind.cli` is `tickmind`."""

from tickmind.cli import main

main()

"""`python -m tickmind.cli` is `tickmind`."""

from tickmind.cli.app import main

main()

"""What an actor can do as numbered choices, for programs that learn."""

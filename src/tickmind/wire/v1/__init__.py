"""The code that `make proto` writes from `proto/tickmind/v1`; nobody edits it."""

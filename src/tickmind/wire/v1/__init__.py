"""The code that `make proto` writes from `proto/tickmind/v1`; do not edit it."""

"""llama.cpp servers on this machine: found, installed, tried and run."""

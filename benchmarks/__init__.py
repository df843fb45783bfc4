"""What tickmind costs, beside its peers and the limits of the machine, measured in one run."""

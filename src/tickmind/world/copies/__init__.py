"""Many copies of one scenario in one world, side by side, each as a world of its own with its own seed."""

"""`tickmind gateway`: serve, check and watch a gateway."""

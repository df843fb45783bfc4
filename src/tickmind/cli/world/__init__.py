"""`tickmind world`: serve and record a world."""

"""The world and the models under other people's interfaces: a package for each convention, imported when it is used."""

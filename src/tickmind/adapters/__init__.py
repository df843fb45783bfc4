"""The world and the models under other people's interfaces, one package for each; each is an extra."""

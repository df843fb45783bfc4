"""The world and the models under other people's interfaces; each adapter is a package of its own."""

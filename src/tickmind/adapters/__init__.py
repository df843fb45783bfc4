"""The world under other people's interfaces: one package for each convention, each an extra that is imported lazily."""

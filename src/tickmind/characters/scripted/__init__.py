"""Scripts that answer in the place of a model, so that ready characters can be shown on machines without one."""

"""The model service: one fair door to every model, with queues, limits, fallback and a surface for any client."""

"""Who shares the keys: sessions, their activity, cooldowns and deferred waits, and shared replies."""

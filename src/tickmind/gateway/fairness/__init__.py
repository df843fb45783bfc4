"""Fair sharing of keys: sessions, their activity, cooldowns and defers, and the reply cache."""

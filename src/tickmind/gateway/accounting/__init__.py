"""Who shares the keys: sessions and their cooldowns, budgets and deferrals, and the tally of it all."""

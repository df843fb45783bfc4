"""Usage accounting: budgets per owner, totals per provider, model and session, trends and the event feed."""

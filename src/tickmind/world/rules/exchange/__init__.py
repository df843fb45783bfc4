"""Rules by which items change hands for others: containers and offers."""

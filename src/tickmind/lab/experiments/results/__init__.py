"""The results of an experiment: analysis, tables, plots, a page, and the methods in words."""

"""`tickmind runs`, `recover` and `report`: list, finish and describe recorded runs."""

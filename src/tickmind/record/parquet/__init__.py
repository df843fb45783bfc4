"""Parquet files written from encoded columns, and read behind guards."""

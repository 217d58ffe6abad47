"""Traces: rows (`rows`), in memory (`buffer`), and in Parquet files (`parquet`, the only part that needs Arrow)."""

"""Spark looks for packages called `pyspark_…` and registers their data source: so `format("tocsin")` is known wherever
Tocsin is installed."""

from tocsin.spark.streams.source import TocsinSource as DefaultSource

__all__ = ["DefaultSource"]

"""Traces as Parquet files: `TraceWriter` writes one, `read_rows` reads any number of them."""

from tocsin.traces.reader import has_one_clock, read_rows, trace_files
from tocsin.traces.schema import SCHEMA
from tocsin.traces.writer import TraceWriter

__all__ = ["SCHEMA", "TraceWriter", "has_one_clock", "read_rows", "trace_files"]

"""What all tests share, in `tests/` and in `papers/`: their options, parts of long runs, and one Spark session."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["tests.parts"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite", action="store_true", help="write golden transcripts and measured tables anew instead of comparing"
    )


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """One for all tests that need one; they run in one process (`xdist_group("spark")`)."""
    from tocsin.spark.session import SessionOptions, start_session

    session = start_session(SessionOptions(master="local[2]", name="tests"))
    yield session
    session.stop()

"""One Spark session for all tests that need one; they run in one process (`xdist_group("spark")`)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tocsin.spark.session import SessionOptions, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    session = start_session(SessionOptions(master="local[2]", name="tests"))
    yield session
    session.stop()

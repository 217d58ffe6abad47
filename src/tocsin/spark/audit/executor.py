"""Spark runs the tasks of an audit (`tocsin.properties.audit`).

A task is a function of a module and one argument; both travel as bytes, and so does the answer. What a person has
to hear of (`TocsinError`) is carried back as it is; anything else that a task raises is an error of ours and ends
the audit.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tocsin.core.errors import TocsinError
from tocsin.properties.audit.executor import Answer, Item
from tocsin.properties.kernels.encode import UnsortedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_SCHEMA = "task long, answer binary"
CARRIED = (TocsinError, UnsortedError)


class SparkExecutor:
    """Runs each task as one Spark task, through the DataFrame API alone."""

    def __init__(self, session: "SparkSession") -> None:
        self._session = session

    def run(self, task: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        if not items:
            return []
        packed = [pickle.dumps(item, pickle.HIGHEST_PROTOCOL) for item in items]
        tasks = self._session.range(0, len(items), 1, len(items))  # exactly one a partition
        table = tasks.mapInArrow(_worker(task, packed), ANSWER_SCHEMA).toArrow()
        answers: dict[int, Any] = {}
        for number, answer in zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True):
            found = pickle.loads(answer)
            if isinstance(found, CARRIED):
                raise found
            answers[number] = found
        return [answers[number] for number in range(len(items))]


def _worker(task: Callable[[Any], Any], packed: list[bytes]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    answer = task(pickle.loads(packed[number]))
                except CARRIED as error:
                    answer = error
                answers = [pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)]
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number], pa.int64()), pa.array(answers, pa.binary())], ["task", "answer"]
                )

    return work

"""Who runs the tasks of an audit: this process, or Spark (`tocsin.spark.audit.executor`). The tasks cannot tell."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Watch = Callable[[int, int], None]  # tasks done, and tasks known so far: for a progress bar


class Executor(Protocol):
    def run(self, task: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """The answers of a task to all items, in their order."""
        ...


class LocalExecutor:
    """Runs tasks here, one after the other."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._known = 0
        self._done = 0

    def run(self, task: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        self._known += len(items)
        answers: list[Answer] = []
        for item in items:
            if self._watch is not None:
                self._watch(self._done, self._known)
            answers.append(task(item))
            self._done += 1
        return answers

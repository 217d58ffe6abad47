"""How far Spark is with what it was asked for."""

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tocsin.spark.session import is_connect_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_SECONDS = 0.25  # between two looks at how far a job is


@contextlib.contextmanager
def watched(session: "SparkSession", show: Callable[[int, int], None]) -> Iterator[None]:
    """Calls `show(tasks done, tasks known)` from another thread, while jobs that this thread starts inside are
    running.
    """
    if is_connect_session(session):
        with _watched_connect(session, show):
            yield
        return
    context = session.sparkContext
    group = f"tocsin-{uuid.uuid4()}"
    context.setJobGroup(group, "tocsin")
    over = threading.Event()

    def poll() -> None:
        tracker = context.statusTracker()
        while not over.wait(POLL_SECONDS):
            done = known = 0
            for job in tracker.getJobIdsForGroup(group):
                about = tracker.getJobInfo(job)
                for stage in map(tracker.getStageInfo, about.stageIds if about is not None else ()):
                    if stage is not None:
                        done, known = done + stage.numCompletedTasks, known + stage.numTasks
            show(done, known)

    poller = threading.Thread(target=poll, daemon=True)
    poller.start()
    try:
        yield
    finally:
        over.set()
        poller.join()


@contextlib.contextmanager
def _watched_connect(session: "SparkSession", show: Callable[[int, int], None]) -> Iterator[None]:
    def handler(stages: Any, **_: Any) -> None:
        found = list(stages or ())
        show(sum(stage.num_completed_tasks for stage in found), sum(stage.num_tasks for stage in found))

    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)

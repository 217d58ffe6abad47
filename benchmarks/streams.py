"""`format("tocsin")` over data folders against Spark's own Parquet source on the same rows, and `tocsin watch`.

One session, the same rows of 100 bytes, one run; ratios, not seconds. The bars: a stream at least 0.6 of the rows a
second of Spark's file source, a table at least 0.7 of `spark.read.parquet`, a watch over three members at least a third
of the stream's own rate.

    python -m benchmarks.streams                       10 million rows; 10 minutes, 4 GB of disk
    python -m benchmarks.streams --rows 1000000        a quick look
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.streams_data import FILE_ROWS, SITES, write_member, write_parquet
from tocsin.judging import judged_by
from tocsin.spark.session import SessionOptions, open_session
from tocsin.spark.watch.watching import Watching

BATCH_FILES = 5  # of a micro-batch, in both
STREAM_RATIO_MIN = 0.6
TABLE_RATIO_MIN = 0.7
WATCH_RATIO_MIN = 1 / 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--watched", type=int, help="messages that three members deliver (default a fifth of --rows)")
    parser.add_argument("--rounds", type=int, default=2, help="of each; the best counts")
    arguments = parser.parse_args()
    watched = arguments.watched or arguments.rows // 5
    with tempfile.TemporaryDirectory(prefix="tocsin-streams-") as name:
        folder = Path(name)
        write_member(folder / "data", "a", arguments.rows)
        write_parquet(folder / "parquet", arguments.rows, FILE_ROWS)
        for site in SITES:
            write_member(folder / "watched", site, watched)
        options = SessionOptions("local[2]", {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4"}, "streams")
        with open_session(options) as session:
            answer = measure(session, folder, arguments.rows, watched, arguments.rounds)
    print(json.dumps(answer, indent=1))
    bars = {"stream": STREAM_RATIO_MIN, "table": TABLE_RATIO_MIN, "watch": WATCH_RATIO_MIN}
    return 0 if all(answer["ratio"][name] >= least for name, least in bars.items()) else 1


def measure(session: Any, folder: Path, rows: int, watched: int, rounds: int) -> dict[str, Any]:
    table = best(rounds, lambda _: read(ours_of(session).load(str(folder / "data")), rows))
    parquet = best(rounds, lambda _: read(session.read.parquet(str(folder / "parquet")), rows))
    ours = session.readStream.format("tocsin").option("maxRecordsPerBatch", str(BATCH_FILES * FILE_ROWS))
    schema = session.read.parquet(str(folder / "parquet")).schema
    theirs = session.readStream.schema(schema).option("maxFilesPerTrigger", str(BATCH_FILES))
    stream = best(rounds, lambda n: drain(ours.load(str(folder / "data")), folder / f"ours{n}", rows))
    files = best(rounds, lambda n: drain(theirs.parquet(str(folder / "parquet")), folder / f"theirs{n}", rows))
    watch = best(1, lambda n: look(session, folder, n, watched))
    rate = {
        "table": rows / table,
        "parquet": rows / parquet,
        "stream": rows / stream,
        "file stream": rows / files,
        "watch": (len(SITES) * watched + watched) / watch,
    }
    ratio = {
        "table": parquet / table,
        "stream": files / stream,
        "watch": rate["watch"] / rate["stream"],
    }
    return {
        "rows": rows,
        "rows_per_s": {name: round(each) for name, each in rate.items()},
        "ratio": {name: round(each, 3) for name, each in ratio.items()},
        "driver_max_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def ours_of(session: Any) -> Any:
    """With the columns that the question needs: Parquet's reader finds them out by itself."""
    return session.read.format("tocsin").schema("position bigint, payload binary")


def best(rounds: int, run: Callable[[int], None]) -> float:
    seconds = []
    for number in range(rounds):
        began = time.perf_counter()
        run(number)
        seconds.append(time.perf_counter() - began)
        print(f"  {seconds[-1]:.1f} s", file=sys.stderr)
    return min(seconds)


def read(frame: Any, rows: int) -> None:
    found = frame.selectExpr("count(*)", "sum(length(payload))", "max(position)").first()
    assert tuple(found) == (rows, rows * 100, rows - 1), found


def drain(frame: Any, checkpoint: Path, rows: int) -> None:
    query = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = query.trigger(availableNow=True).start()
    query.awaitTermination()
    found = sum(progress["numInputRows"] for progress in query.recentProgress)
    assert found == rows or len(query.recentProgress) >= 100, found


def look(session: Any, folder: Path, number: int, watched: int) -> None:
    paths = [str(folder / "watched")]
    watching = Watching(session, paths, lambda: judged_by(paths), lambda _: None, folder / f"watch{number}")
    watching.start(None).awaitTermination()
    report = watching.finish().report
    assert report.rows >= len(SITES) * watched
    failed = [name for name, verdict in report.properties.items() if verdict.verdict == "fail"]
    assert not failed, failed


if __name__ == "__main__":
    sys.exit(main())

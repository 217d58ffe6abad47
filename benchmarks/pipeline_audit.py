# ruff: noqa: E501  (a query is read as one line)
"""An audit of 40 million deliveries on local Spark against the same questions, hand-written in DuckDB's SQL.

Ten sites, three overlapping groups, the same Parquet files for both, in one run; ratios, not seconds. The bars: at most half
of DuckDB's time, with the start of the session and 4 GB for the driver; four times the rows in at most 4.5 times
the time. DuckDB gets all cores, and tables in memory where that helps it.

    python benchmarks/pipeline_audit.py                      both sizes; 15 minutes, 3 GB of disk
    python benchmarks/pipeline_audit.py --deliveries 4000000 --once      a quick look, without the larger trace
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from benchmarks.pipeline_traces import GROUPS, SITES, write_traces

RATIO_MAX = 0.5
GROWTH = 4
GROWTH_RATIO_MAX = 4.5
HUB = next(SITES[site] for site in range(len(SITES)) if all(site in members for members in GROUPS.values()))

# The questions, each answered by a number of violations. A site of all groups (the hub) makes order across groups and
# cycles easy to ask: its order is the only one there can be.
PREPARE = [
    """CREATE TYPE site AS ENUM ({sites})""",
    """CREATE TYPE grp AS ENUM ({groups})""",
    """CREATE TABLE d AS SELECT site::site AS site, "order", "group"::grp AS "group", origin::site AS origin, seqno
       FROM read_parquet('{files}') WHERE event = 'deliver'""",
    """CREATE TABLE b AS SELECT site::site AS site, "order", "group"::grp AS "group", origin::site AS origin, seqno
       FROM read_parquet('{files}') WHERE event = 'broadcast'""",
    """CREATE TABLE members AS SELECT "group", count(DISTINCT site) AS n FROM d GROUP BY ALL""",
    """CREATE TABLE ranked AS SELECT "group", origin, seqno, row_number() OVER (ORDER BY "order") AS rank
       FROM d WHERE site = '{hub}'""",
]
QUESTIONS = {
    "whole logs": """SELECT count(*) FROM (SELECT site FROM read_parquet('{files}') GROUP BY site
        HAVING min("order") <> 0 OR max("order") <> count(*) - 1)""",
    "integrity: twice": """SELECT count(*) FROM (SELECT 1 FROM d GROUP BY site, "group", origin, seqno HAVING count(*) > 1)""",
    "integrity: nobody broadcast": """SELECT count(*) FROM d ANTI JOIN b USING ("group", origin, seqno)""",
    "integrity: too early": """SELECT count(*) FROM d JOIN b USING (site, "group", origin, seqno) WHERE d."order" < b."order" """,
    "integrity: reused": """SELECT count(*) FROM (SELECT 1 FROM b GROUP BY "group", origin, seqno HAVING count(*) > 1)""",
    "validity": """SELECT count(*) FROM b ANTI JOIN d USING (site, "group", origin, seqno)""",
    "agreement": """SELECT count(*) FROM (SELECT "group", count(*) AS c FROM d GROUP BY "group", origin, seqno)
        JOIN members USING ("group") WHERE c < n""",  # nobody delivers twice: asked above
    "fifo": """SELECT count(*) FROM (SELECT seqno, lag(seqno) OVER (PARTITION BY site, "group", origin ORDER BY "order") AS p
        FROM d) WHERE p > seqno""",
    "multiple source": """SELECT count(*) FROM (SELECT 1 FROM (SELECT "group", origin, seqno,
        row_number() OVER (PARTITION BY site, "group" ORDER BY "order") AS p FROM d)
        GROUP BY "group", origin, seqno HAVING min(p) <> max(p))""",
    "multiple group": """SELECT count(*) FROM (SELECT 1 FROM (SELECT site, "group", origin, seqno, {counts} FROM d
        WINDOW so_far AS (PARTITION BY site ORDER BY "order" ROWS UNBOUNDED PRECEDING))
        JOIN kinds USING (site) GROUP BY "group", origin, seqno HAVING {differ})""",
    "acyclic": """SELECT count(*) FROM (SELECT rank, lag(rank) OVER (PARTITION BY site ORDER BY "order") AS p
        FROM d JOIN ranked USING ("group", origin, seqno)) WHERE p > rank""",
    "causal": """SELECT count(*) FROM (SELECT is_broadcast, rank, max(rank) OVER (PARTITION BY site ORDER BY "order"
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS seen
        FROM (SELECT *, false AS is_broadcast FROM d UNION ALL SELECT *, true FROM b)
        JOIN ranked USING ("group", origin, seqno)) WHERE is_broadcast AND seen > rank""",
}


def ask_duckdb(folder: Path) -> float:
    """Seconds for all questions; every one has to find nothing."""
    words = {"files": f"{folder}/*.parquet", "hub": HUB}
    words["sites"] = ", ".join(f"'{site}'" for site in SITES)
    words["groups"] = ", ".join(f"'{group}'" for group in GROUPS)
    words["counts"] = ", ".join(
        f"sum(CASE WHEN \"group\" = '{name}' THEN 1 ELSE 0 END) OVER so_far AS {name}" for name in GROUPS
    )
    # how far another group had got is compared over the sites that are members of it
    words["differ"] = " OR ".join(
        f"min({name}) FILTER (in_{name}) <> max({name}) FILTER (in_{name})" for name in GROUPS
    )
    began = time.perf_counter()
    with duckdb.connect() as database:
        for statement in PREPARE:
            database.execute(statement.format(**words))
        kinds = ", ".join(f"bool_or(\"group\" = '{name}') AS in_{name}" for name in GROUPS)
        database.execute(f"CREATE TABLE kinds AS SELECT site, {kinds} FROM d GROUP BY site")
        for name, question in QUESTIONS.items():
            asked = time.perf_counter()
            found = database.execute(question.format(**words)).fetchall()
            print(f"    DuckDB, {name}: {time.perf_counter() - asked:.1f} s", file=sys.stderr)
            assert found == [(0,)], (name, found)
    return time.perf_counter() - began


def run_audit(folder: Path) -> float:
    """Seconds of `tocsin audit`, from its start to its end; every property that can be checked has to pass."""
    began = time.perf_counter()
    answer = subprocess.run(
        [sys.executable, "-m", "tocsin.cli.main", "audit", str(folder), "--json", "--spark", "spark.driver.memory=4g"],
        check=True,
        capture_output=True,
    )
    took = time.perf_counter() - began
    properties = json.loads(answer.stdout)["properties"]
    verdicts = {name: found["verdict"] for name, found in properties.items()}
    open_ones = {name for name, verdict in verdicts.items() if verdict != "pass"}
    assert open_ones == {"safe", "view_synchrony"}, verdicts  # no receive events, no views
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deliveries", type=int, default=40_000_000)
    parser.add_argument("--once", action="store_true", help="without the trace that is four times as large")
    parser.add_argument("--folder", type=Path, help="where traces are kept from one call to the next")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as temporary:
        root = arguments.folder or Path(temporary)
        small = _traces(root, arguments.deliveries)
        audit_seconds = run_audit(small)
        duckdb_seconds = ask_duckdb(small)
        ratio = audit_seconds / duckdb_seconds
        print(f"{arguments.deliveries:,} deliveries: audit {audit_seconds:.1f} s, DuckDB {duckdb_seconds:.1f} s")
        print(f"audit / DuckDB: {ratio:.2f} (bar: {RATIO_MAX})")
        good = ratio <= RATIO_MAX
        if not arguments.once:
            larger_seconds = run_audit(_traces(root, arguments.deliveries * GROWTH))
            growth = larger_seconds / audit_seconds
            print(f"{GROWTH} times the rows: {larger_seconds:.1f} s, {growth:.2f} times (bar: {GROWTH_RATIO_MAX})")
            good &= growth <= GROWTH_RATIO_MAX
    return 0 if good else 1


def _traces(root: Path, deliveries: int) -> Path:
    folder = root / str(deliveries)
    if not folder.is_dir():
        beside = root / f".{deliveries}"
        print(f"    writing {deliveries:,} deliveries", file=sys.stderr)
        write_traces(beside, deliveries)
        beside.rename(folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())

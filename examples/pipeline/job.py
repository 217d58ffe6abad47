"""The Spark side: orders of a group are joined, summed up by windows, and written as Parquet; alerts go back into it.

Every query has its checkpoint below `--out`: killed at any moment, it goes on there, and every order is in the tables
once, every alert in the group once. `--finish` reads what is there now, compares the tables with the same questions
asked of the journal as a whole, and says so.

    python examples/pipeline/job.py --door grpc://127.0.0.1:7501 --token … --data group/data --out out
"""

import argparse
import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody calls it)

from tocsin.spark.session import SessionOptions, start_session

ORDER = "order_id bigint, customer string, amount double, at timestamp"
CUSTOMERS = [("ann", "north"), ("bob", "south"), ("cho", "north"), ("dee", "west")]
ALERT_ABOVE = 900.0
SHUT = "shut"  # the customer of the order that closes the last window
BATCH_ROWS = 400


def orders(rows: DataFrame) -> DataFrame:
    """What the shop has published; alerts have another producer."""
    own = rows.where("producer = 'shop'").select("position", F.col("payload").cast("string").alias("text"))
    return own.select("position", F.from_json("text", ORDER).alias("o")).select("position", "o.*")


def joined(found: DataFrame) -> DataFrame:
    spark = found.sparkSession
    customers = spark.createDataFrame(CUSTOMERS, "customer string, region string")
    return found.join(F.broadcast(customers), "customer").select("position", "order_id", "region", "amount", "at")


def summed(found: DataFrame) -> DataFrame:
    window = F.window("at", "10 seconds").alias("window")
    counts = found.groupBy(window, "customer").agg(F.count("*").alias("orders"), F.sum("amount").alias("amount"))
    return counts.select(F.col("window.start").alias("start"), "customer", "orders", "amount")


def alerts(found: DataFrame) -> DataFrame:
    large = found.where((F.col("amount") > ALERT_ABOVE) & (F.col("customer") != SHUT))
    return large.select(F.concat(F.lit("alert "), F.col("order_id").cast("string")).alias("payload"))


class Job:
    def __init__(self, spark: SparkSession, arguments: argparse.Namespace) -> None:
        self.spark = spark
        self.arguments = arguments
        self.out: Path = arguments.out

    def stream(self) -> DataFrame:
        source = self.spark.readStream.format("tocsin").option("door", self.arguments.door)
        source = source.option("token", self.arguments.token).option("maxRecordsPerBatch", str(BATCH_ROWS))
        return orders(source.load())

    def start(self, once: bool) -> list[Any]:
        windows = summed(self.stream().withWatermark("at", "1 second"))
        door = {"door": self.arguments.door, "token": self.arguments.token, "producer": "alerts"}
        writers = [
            joined(self.stream()).writeStream.format("parquet").option("path", str(self.out / "orders")),
            windows.writeStream.format("parquet").option("path", str(self.out / "windows")),
            alerts(self.stream()).writeStream.format("tocsin").options(**door),
        ]
        return [
            writer.option("checkpointLocation", str(self.out / "checkpoints" / name))
            .trigger(**({"availableNow": True} if once else {"processingTime": "200 milliseconds"}))
            .start()
            for name, writer in zip(("orders", "windows", "alerts"), writers, strict=True)
        ]

    def compare(self) -> dict[str, Any]:
        """The tables against the journal as a whole."""
        whole = self.spark.read.format("tocsin").load(str(self.arguments.data)).cache()
        found = orders(whole)
        expected = sorted(joined(found).collect())
        written = sorted(self.spark.read.parquet(str(self.out / "orders")).collect())
        windows = sorted(summed(found.where(F.col("customer") != SHUT)).collect())
        summed_up = sorted(self.spark.read.parquet(str(self.out / "windows")).collect())
        wanted = [row.payload for row in alerts(found.orderBy("position")).collect()]
        sent = whole.where("producer like 'alerts/%'").orderBy("position")
        got = [bytes(row.payload).decode() for row in sent.collect()]
        return {
            "orders": len(written),
            "orders_equal": written == expected,
            "windows": len(summed_up),
            "windows_equal": summed_up == windows,
            "alerts": len(got),
            "alerts_once": sorted(got) == sorted(wanted),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--door", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--finish", action="store_true")
    arguments = parser.parse_args()
    spark = start_session(SessionOptions("local[2]", {"spark.sql.shuffle.partitions": "2"}, "pipeline"))
    job = Job(spark, arguments)
    queries = job.start(once=arguments.finish)
    print("started", flush=True)
    for query in queries:
        query.awaitTermination()
    answer = job.compare()
    print(json.dumps(answer))
    return 0 if all(value is not False for value in answer.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())

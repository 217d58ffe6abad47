"""Cells to means: one row per grid, combination and metric, with its 95 % interval, on Spark.

Sums are taken in the order of the replicates, so that the same cells give the same bytes on any number of partitions.
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from tocsin.spark.sweep.cell import OK
from tocsin.spark.sweep.statistics import student_quantile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def aggregated(session: "SparkSession", results: "DataFrame", replications_max: int) -> "DataFrame":
    """name of the grid, parameters (JSON), metric, replications, mean, half_width, low, high of the cells that are ok.

    A verdict counts as a metric `verdict.NAME`: the part of the replicates in which the property passed. A metric of
    a single replicate has no half_width.
    """
    cells = results.where(F.col("status") == OK).select(
        "name",
        F.to_json(F.map_from_entries(F.array_sort(F.map_entries("parameters")))).alias("parameters"),
        "replicate",
        F.map_concat("metrics", _verdicts_as_numbers()).alias("numbers"),
    )
    values = cells.select("name", "parameters", "replicate", F.explode("numbers").alias("metric", "value"))
    grouped = values.groupBy("name", "parameters", "metric").agg(
        F.transform(F.sort_array(F.collect_list(F.struct("replicate", "value"))), lambda pair: pair["value"]).alias(
            "values"
        )
    )
    count = F.size("values")
    means = grouped.select(
        "*",
        count.alias("replications"),
        (F.aggregate("values", F.lit(0.0), lambda total, value: total + value) / count).alias("mean"),
    )
    squares = F.aggregate(
        "values", F.lit(0.0), lambda total, value: total + (value - F.col("mean")) * (value - F.col("mean"))
    )
    quantiles = session.createDataFrame(
        [(number, student_quantile(number - 1)) for number in range(2, max(3, replications_max + 1))],
        "replications int, quantile double",
    )
    spread = means.join(F.broadcast(quantiles), "replications", "left").select(
        "*", (F.col("quantile") * F.sqrt(squares / (F.col("replications") - 1) / F.col("replications"))).alias("half")
    )
    return spread.select(
        "name",
        "parameters",
        "metric",
        "replications",
        "mean",
        F.when(F.col("replications") > 1, F.col("half")).alias("half_width"),
        F.array_min("values").alias("low"),
        F.array_max("values").alias("high"),
    ).orderBy("name", "parameters", "metric")


def _verdicts_as_numbers() -> "F.Column":
    checked = F.map_filter("verdicts", lambda name, verdict: verdict.isin("pass", "fail"))
    named = F.transform_keys(checked, lambda name, verdict: F.concat(F.lit("verdict."), name))
    return F.transform_values(named, lambda name, verdict: (verdict == "pass").cast("double"))

"""The notebook and the pipeline run as they are."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_notebook(spark: "SparkSession") -> None:
    notebook = json.loads((EXAMPLES / "notebooks" / "streams.ipynb").read_text())
    names: dict[str, Any] = {"spark": spark}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert names["by_origin"] == {"a": 200, "b": 200, "c": 200}
    assert names["sizes"] == [250, 250, 100]
    assert names["report"].holds("agreed")
    assert (names["folder"] / "delays.png").stat().st_size > 0


def run_pipeline(orders: int, kills: int) -> None:
    words = [sys.executable, str(EXAMPLES / "pipeline" / "run.py"), "--orders", str(orders), "--kills", str(kills)]
    done = subprocess.run(
        [*words, "--no-watch"], capture_output=True, text=True, timeout=300 + 120 * kills, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    answer = json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])
    assert answer["orders"] == orders and answer["alerts"] > 0 and answer["windows"] > 0
    assert answer["orders_equal"] and answer["windows_equal"] and answer["alerts_once"]


def test_every_order_once_over_kills_of_the_driver() -> None:
    run_pipeline(3_000, 3)


@pytest.mark.long
def test_every_order_once_over_fifty_kills_of_the_driver() -> None:
    run_pipeline(40_000, 50)

"""Choose a protocol by simulating it, and prove what it delivered.

Run: python examples/choose_and_prove.py
"""

import tocsin

SCENARIO = {
    "sites": 5,
    "workload": {"messages": 200, "rate_per_site": 20.0},
    "network": {"delay_us": [500, 5_000], "loss": 0.05},
}

for protocol in ("ack_all", "counter_token"):
    result = tocsin.simulate({"protocol": protocol, **SCENARIO}, seed=1)
    median_ms = result.summary["delay_us"]["p50"] / 1000
    verdicts = tocsin.check(result.trace).properties  # any trace: a table, Parquet files, folders of them
    held = [name for name in ("agreement", "fifo", "multiple_source", "safe") if verdicts[name].verdict == "pass"]
    print(f"{protocol:14} median {median_ms:4.1f} ms; held: {', '.join(held)}")

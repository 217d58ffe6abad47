"""One multicast to a group while nothing else happens: which messages it takes, and when each member delivers.

What Garcia-Molina and Spauster's Tables 1 and 2 count: the messages that carry or order a broadcast. What makes edges
reliable (acknowledgements of `propagation_graph`, null messages) comes later and is left out.
"""

from pathlib import Path
from typing import Any, NamedTuple

from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import scenario_from_document
from tocsin.traces.buffer import TraceBuffer

DURATION_US = 10**8
NEVER_US = 10**9  # resending and collecting acknowledgements only begins after the end
COUNTED = {"two_phase": ("data", "ack", "final"), "sequencer": ("data",), "propagation_graph": ("data",)}


class Multicast(NamedTuple):
    """What one multicast came to."""

    messages: int
    delays_us: list[int]  # of the members that delivered, increasing
    load: list[int]  # by site: messages sent and received


def mesh(latency_us: int, processing_us: int) -> dict[str, Any]:
    """The point-to-point model: P to put a message on the network, L for it to get there."""
    return {"model": "mesh", "delay_us": latency_us + processing_us, "process_us": processing_us}


def lan(message_us: int) -> dict[str, Any]:
    """The broadcast model: one message at a time on the network, T each."""
    return {"model": "lan", "delay_us": 0, "medium_us": message_us}


def one_multicast(
    protocol: str, sites: int, groups: list[list[int]], group: int, source: int, network: dict[str, Any]
) -> Multicast:
    """Let `source` send one message to a group, and wait until nothing moves."""
    names = [f"s{number}" for number in range(sites)]
    options = {"resend_us": NEVER_US}
    if protocol == "propagation_graph":
        options["ack_us"] = DURATION_US // 2
    document = {
        "protocol": protocol,
        "sites": names,
        "groups": {f"g{number}": [names[site] for site in members] for number, members in enumerate(groups)},
        "options": options,
        "duration_us": DURATION_US,
        "workload": {"messages": 1, "every_us": NEVER_US, "senders": [names[source]], "groups": [f"g{group}"]},
        "network": network,
    }
    scenario = scenario_from_document(document, "multicast", Path())
    trace = TraceBuffer("multicast", scenario.names)
    run_to_end(scenario.build(1, trace), DURATION_US)  # nothing is drawn: the network has no choices
    messages = 0
    began = 0
    delivered: list[int] = []
    load = [0] * sites
    for row in trace.rows():  # site by site
        if row.event == "broadcast":
            began = row.time_us
        elif row.event == "deliver":
            delivered.append(row.time_us)
        elif row.kind in COUNTED[protocol]:
            messages += row.event == "send"
            load[int(row.site[1:])] += 1
    return Multicast(messages, [time - began for time in sorted(delivered)], load)

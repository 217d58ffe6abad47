"""Garbinato, Pedone, Schmidt 2004: adaptive diffusion."""

from papers.common.paper import Paper
from papers.garbinato.after_convergence import after_convergence
from papers.garbinato.figure_1 import two_paths
from papers.garbinato.figure_2 import messages
from papers.garbinato.figure_3 import convergence
from papers.garbinato.figure_4 import size
from papers.garbinato.heartbeats import heartbeats
from papers.garbinato.unequal import unequal

SECTIONS = (
    lambda tables: two_paths(tables["two_paths"]),
    lambda tables: messages(tables["messages_crashes"], tables["messages_losses"]),
    lambda tables: unequal(tables["messages_unequal"]),
    lambda tables: convergence(tables["convergence_crashes"], tables["convergence_losses"], tables["tolerance"]),
    lambda tables: after_convergence(tables["convergence_crashes"], tables["convergence_losses"], tables["patience"]),
    lambda tables: size(tables["size"]),
    lambda tables: heartbeats(tables["heartbeats"], tables["line_19"]),
)

PAPER = Paper(
    name="garbinato",
    title="Garbinato, Pedone, Schmidt 2004: An Adaptive Algorithm for Efficient Message Diffusion in Unreliable "
    "Environments",
    grids=(
        "two_paths",
        "messages_crashes",
        "messages_losses",
        "messages_unequal",
        "convergence_crashes",
        "convergence_losses",
        "tolerance",
        "patience",
        "size",
        "heartbeats",
        "line_19",
    ),
    sections=SECTIONS,
)

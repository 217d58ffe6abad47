"""The network of Garcia-Molina and Kogan's Figure 2.1, and the two assignments of section 5."""

from typing import Any

# The reconstruction of the paper's lost figure 2.1; l6 is the expensive link of section 5
FIGURE_2_1: dict[str, Any] = {
    "nodes": [{"name": f"h{number}"} for number in range(1, 6)]
    + [{"name": f"s{number}", "kind": "switch"} for number in range(1, 7)],
    "links": [
        {"name": "l1", "ends": ["h1", "s1"]},
        {"name": "l2", "ends": ["s1", "s3"]},
        {"name": "l3", "ends": ["s1", "s2"]},
        {"name": "l4", "ends": ["s2", "s3"]},
        {"name": "l5", "ends": ["h2", "s2"]},
        {"name": "l6", "ends": ["s3", "s4"], "cost": 5.0},
        {"name": "l7", "ends": ["h3", "s4"]},
        {"name": "l8", "ends": ["s4", "s5"]},
        {"name": "l9", "ends": ["h4", "s5"]},
        {"name": "l10", "ends": ["s4", "s6"]},
        {"name": "l11", "ends": ["h5", "s6"]},
    ],
}
ASSIGNMENTS = {
    "A": {"h2": ["h1"], "h3": ["h1", "h2"], "h4": ["h3", "h1", "h2"], "h5": ["h3", "h4", "h1", "h2"]},
    "B": {"h2": ["h1", "h4", "h5"], "h3": ["h1", "h2", "h4", "h5"], "h4": ["h1", "h5"], "h5": ["h1"]},
}

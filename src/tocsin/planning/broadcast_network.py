"""A propagation forest on a broadcast network: the software checks of section 4.2 of the paper.

A multicast is looked at, in software, by every site on the network, whether it is concerned or not; a unicast is sorted
out by hardware. So a hop to several sites is one message and a check at every site, or several messages and none.
"""

from tocsin.planning.propagation import Forest


def transmissions(forest: Forest) -> list[list[int]]:
    """By group: to how many sites each site that passes a message on sends it; the source's own unicast is not in."""
    found: list[list[int]] = []
    for group in range(len(forest.groups)):
        counts: dict[int, int] = {}
        for site in forest.relays(group):
            if site != forest.primary[group]:
                above = forest.parent[site]
                counts[above] = counts.get(above, 0) + 1
        found.append([counts[site] for site in sorted(counts)])
    return found


def software_checks(forest: Forest) -> int:
    """Checks that each site makes when one message goes to every group and a hop to several sites is one multicast; a
    site does not check what it sends itself."""
    checks = 0
    for counts in transmissions(forest):
        checks += len([count for count in counts if count > 1])
    return checks


def needless_checks(forest: Forest) -> int:
    """Of all sites together, those by sites that the multicast is not for."""
    needless = 0
    for counts in transmissions(forest):
        for count in counts:
            if count > 1:
                needless += forest.site_count - 1 - count
    return needless


def unicasts(forest: Forest) -> int:
    """Messages beyond multicasts if every site is sent to on its own: what it costs to spare the checks."""
    more = 0
    for counts in transmissions(forest):
        for count in counts:
            more += count - 1
    return more

"""What a protocol excludes, by the names of docs/exclusions.md, which says why and what happens then."""

from tocsin.protocols.protocol import Assumptions


def excluded(assume: Assumptions) -> list[str]:
    """The faults and requests that a protocol does not stand."""
    comes_back = assume.crashes_recover
    every: list[tuple[str, bool]] = [
        ("loss", assume.loss_max == 0),
        ("duplicates", not assume.duplication),
        ("reordering", not assume.reordering),
        ("crashes", assume.crashes == "none"),
        ("majority down at once", assume.crashes == "minority"),
        ("down for good", comes_back and not assume.minority_stays_down),
        ("majority down for good", comes_back and assume.minority_stays_down),
        ("partitions", not assume.partitions),
        ("one-way cuts", not assume.one_way_cuts),
        ("pauses", not assume.pauses),
        ("unsynced writes lost", not assume.lossy_disk),
        ("emptied disks", not assume.wipes),
        ("disks set back", not assume.restores),
        ("damaged disks", not assume.damages),
        ("disk lost while busy", assume.disks_lost == "still"),
        ("dead links", not assume.dead_links),
        ("slow sites", not assume.slow_sites),
        ("clocks", not assume.clocks),
        ("joins", not assume.joins),
        ("leaves", not assume.leaves),
        ("returns", assume.leaves and not assume.returns),
        ("group changes", not assume.group_changes),
        ("voter changes", not assume.voter_changes),
        ("links that change", "lossy" in assume.networks and not assume.links_change),
        ("several groups", not assume.several_groups),
    ]
    return [name for name, is_excluded in every if is_excluded]

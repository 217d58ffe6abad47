"""docs/exclusions.md says of every protocol what it excludes, why, and what happens then; no more and no less."""

from pathlib import Path

import msgspec

from tocsin.protocols.exclusions import excluded
from tocsin.protocols.protocol import Assumptions
from tocsin.protocols.registry import REGISTRY

PAGE = Path(__file__).parents[2] / "docs" / "exclusions.md"


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_is_what_the_entries_exclude() -> None:
    stated = [(protocol, fault) for fault, protocols, _, _ in rows() for protocol in protocols.split(", ")]
    assert len(set(stated)) == len(stated), "something is excluded twice"
    assert set(stated) == {(name, fault) for name, each in REGISTRY.items() for fault in excluded(each.assumptions)}


def test_every_row_says_why_and_what_happens_then() -> None:
    for fault, protocols, why, then in rows():
        assert len(why) > 10 and len(then) > 10, f"{fault}: {protocols}"


def test_every_assumption_that_can_be_excluded_has_a_name() -> None:
    """A field that is turned changes what is excluded: none is forgotten."""
    nothing_excluded = Assumptions(
        joins=True,
        leaves=True,
        returns=True,
        disks_lost="any",
        dead_links=True,
        group_changes=True,
        voter_changes=True,
        links_change=True,
        networks=("lossy",),
    )
    assert excluded(nothing_excluded) == []
    for field in msgspec.structs.fields(Assumptions):
        if field.type is bool and field.name not in ("minority_stays_down", "detector"):
            turned = not getattr(nothing_excluded, field.name)
            assert excluded(msgspec.structs.replace(nothing_excluded, **{field.name: turned})), field.name
    for change in ({"loss_max": 0.0}, {"crashes": "none"}, {"crashes": "minority"}, {"disks_lost": "still"}):
        assert excluded(msgspec.structs.replace(nothing_excluded, **change)), change

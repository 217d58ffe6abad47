"""Which lives of which sites have begun and ended, as the order says it."""

import msgspec


class Life(msgspec.Struct, frozen=True, array_like=True, gc=False):
    number: int  # of the site's lives; grows
    session: int  # of the replica that began it
    is_on: bool  # it has not ended


class Lives:
    """One group's: the same at every member at the same place of the order."""

    def __init__(self) -> None:
        self._lives: dict[str, Life] = {}

    def of(self, site: str) -> Life | None:
        return self._lives.get(site)

    def on(self) -> list[str]:
        """The sites that are in a life, sorted."""
        return [site for site in sorted(self._lives) if self._lives[site].is_on]

    def is_on(self, site: str, number: int, session: int) -> bool:
        return self._lives.get(site) == Life(number, session, True)

    def maybe_begin(self, site: str, session: int) -> tuple[bool, int]:
        """Whether a new life begins; and the number of the life that it ends, if there is one, else 0."""
        before = self._lives.get(site)
        if before is None:
            self._lives[site] = Life(1, session, True)
            return True, 0
        if before.is_on and before.session == session:
            return False, 0  # said twice
        self._lives[site] = Life(before.number + 1, session, True)
        return True, before.number if before.is_on else 0

    def maybe_end(self, site: str, number: int) -> bool:
        """Whether this life was on, and ends now."""
        life = self._lives.get(site)
        if life is None or life.number != number or not life.is_on:
            return False
        self._lives[site] = Life(life.number, life.session, False)
        return True

    def rows(self) -> list[tuple[str, Life]]:
        return sorted(self._lives.items())

    def restore(self, rows: list[tuple[str, Life]]) -> None:
        self._lives = dict(rows)

"""A trace in memory, for runs that are checked at once and never written: simulate without --trace, swarm, explorer."""

from collections.abc import Iterator, Sequence

from tocsin.traces.rows import Row

_Columns = tuple[
    int,
    str,
    str | None,
    str | None,
    int | None,
    str | None,
    str | None,
    int | None,
    int | None,
    int | None,
    Sequence[str] | None,
]


class TraceBuffer:
    """Keeps what is appended; `rows()` gives it back as rows, site by site."""

    def __init__(self, run: str, sites: Sequence[str]) -> None:
        self.run = run
        self.sites = tuple(sites)
        self._logs: list[list[_Columns]] = [[] for _ in self.sites]  # by site, in order; columns from time_us on
        self._ended: list[list[list[_Columns]]] = [[] for _ in self.sites]  # by site: the logs of its earlier disks

    def append(
        self,
        site: int,
        time_us: int,
        event: str,
        group: str | None = None,
        origin: str | None = None,
        seqno: int | None = None,
        kind: str | None = None,
        peer: str | None = None,
        size: int | None = None,
        position: int | None = None,
        view: int | None = None,
        members: Sequence[str] | None = None,
    ) -> None:
        """Note the next event of a site (by its place in `sites`); its `order` is counted here."""
        self._logs[site].append((time_us, event, group, origin, seqno, kind, peer, size, position, view, members))

    def begin_incarnation(self, site: int) -> None:
        """The site has another disk from here on: a new log of it."""
        self._ended[site].append(self._logs[site])
        self._logs[site] = []

    def rows(self) -> Iterator[Row]:
        """Every row, each site's together and in order; may be asked again, and while more is appended."""
        for name, ended, log in zip(self.sites, self._ended, self._logs, strict=True):
            if not ended:
                yield from self._rows_of(name, log, None)
                continue
            for number, each in enumerate([*ended, log], 1):
                yield from self._rows_of(name, each, str(number))

    def _rows_of(self, name: str, log: list[_Columns], incarnation: str | None) -> Iterator[Row]:
        run = self.run
        for order, columns in enumerate(log):
            members = columns[10]
            listed = None if members is None else tuple(members)
            yield Row(run, name, order, *columns[:10], listed, None, incarnation)

    def clear(self) -> None:
        """Forget everything, for the next run."""
        for log in self._logs:
            log.clear()
        for ended in self._ended:
            ended.clear()

    def __len__(self) -> int:
        return sum(map(len, self._logs)) + sum(len(log) for ended in self._ended for log in ended)

"""An outbox that writes down what a part of a protocol asks for: parts are tested alone with it."""

from tocsin.core.machine import Outbox
from tocsin.core.message import Message, Record


class Recording(Outbox):
    """Requests as text, in their order."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def heard(self) -> list[str]:
        """What was said since the last time."""
        said, self.said = self.said, []
        return said

    def send(self, target: int, message: Message) -> None:
        self.said.append(f"send {target} {type(message).__name__}")

    def multicast(self, targets: list[int], message: Message) -> None:
        self.said.append(f"multicast {targets} {type(message).__name__}")

    def set_timer(self, timer: str, key: int, deadline: int) -> None:
        self.said.append(f"set {timer} {key} at {deadline}")

    def cancel_timer(self, timer: str, key: int) -> None:
        self.said.append(f"cancel {timer} {key}")

    def deliver(self, group: int, origin: int, seqno: int, payload: bytes) -> None:
        self.said.append(f"deliver {origin}:{seqno}")

    def rollback(self, group: int, origin: int, seqno: int) -> None:
        self.said.append(f"rollback {origin}:{seqno}")

    def missed(self, group: int, origin: int, first: int, count: int) -> None:
        self.said.append(f"missed {origin}:{first}+{count}")

    def install_view(self, view: int, members: list[int], primary: bool) -> None:
        self.said.append(f"view {view} {members}")

    def persist(self, record: Record) -> None:
        self.said.append(f"persist {type(record).__name__}")

    def checkpoint(self, records: list[Record]) -> None:
        self.said.append(f"checkpoint {len(records)}")

    def trim(self, group: int, position: int) -> None:
        self.said.append(f"trim {group} {position}")

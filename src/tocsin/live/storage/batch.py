"""Steps that are staged to be written as one: operations, and the bytes that belong to them."""

from tocsin.live.storage.file_format import content_check
from tocsin.live.storage.log_format import Checkpoint, Deliver, Missed, Op, Persist, Rollback, Snapshot


class Batch:
    """The operations of whole steps, in order."""

    def __init__(self) -> None:
        self.time_us = 0  # wall clock, when it was laid out
        self.ops: list[Op] = []
        self.contents: list[bytes] = []  # of the operations that have some, in their order
        self.carried: list[bytes] = []  # by record, in order: the payload that its bytes end with, or b""
        self._frames: list[bytes] = []  # by delivery, in order, also those whose bytes lie elsewhere in the log
        self._carrying: dict[int, int] = {}  # identity of a payload -> its place in `carried`

    def add(self, op: Op) -> None:
        """An operation without content."""
        self.ops.append(op)

    def add_record(self, data: bytes, payload: bytes) -> None:
        """`payload`: what the record's bytes end with, if a delivery may refer to it later."""
        if payload:
            head = memoryview(data)[: len(data) - len(payload)]
            self.ops.append(Persist(len(data), content_check(head), len(payload), content_check(payload)))
            self._carrying[id(payload)] = len(self.carried)
        else:
            self.ops.append(Persist(len(data), content_check(data)))
        self.contents.append(data)
        self.carried.append(payload)

    def add_delivery(self, op: Deliver, frame: bytes) -> None:
        self.ops.append(op)
        self._frames.append(frame)
        if op.file < 0:
            self.contents.append(frame)

    def add_checkpoint(self, records: list[bytes]) -> None:
        self.ops.append(Checkpoint(tuple(map(len, records)), tuple(map(content_check, records))))
        self.contents.extend(records)

    def put_first(self, snapshot: Snapshot, records: list[bytes]) -> None:
        """What a file begins with."""
        self.ops.insert(0, snapshot)
        self.contents[:0] = records

    def forget(self, payload: bytes) -> None:
        """Do not remember where a payload is going to be: its delivery has come before that is known."""
        at = self._carrying.pop(id(payload), -1)
        if at >= 0:
            self.carried[at] = b""

    def replaces_records(self) -> bool:
        return any(isinstance(op, Checkpoint) for op in self.ops)

    def of_group(self, group: int) -> list[tuple[Op, bytes]]:
        """The operations on a group's frames, with the frames that were delivered."""
        found: list[tuple[Op, bytes]] = []
        deliveries = 0
        for op in self.ops:
            frame = b""
            if isinstance(op, Deliver):
                frame = self._frames[deliveries]
                deliveries += 1
            if isinstance(op, (Deliver, Rollback, Missed)) and op.group == group:
                found.append((op, frame))
        return found

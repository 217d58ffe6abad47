"""A process that forks has its members twice, and only the parent's may go on: a session must not seal two packets with
one counter, nor a log have two writers. In the child every member is forbidden to; it may join again, as another."""

import os
from collections.abc import Callable

_forbidden_in_children: list[Callable[[], None]] = []


def register(forbid: Callable[[], None]) -> None:
    """Call this in every child process from now on, until `forget`. It must do nothing but refuse: the event loop and
    the descriptors are the parent's, too."""
    _forbidden_in_children.append(forbid)


def forget(forbid: Callable[[], None]) -> None:
    if forbid in _forbidden_in_children:
        _forbidden_in_children.remove(forbid)


def _after_fork() -> None:
    for forbid in _forbidden_in_children:
        forbid()
    _forbidden_in_children.clear()


os.register_at_fork(after_in_child=_after_fork)

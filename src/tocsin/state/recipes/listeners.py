"""Whoever waits at this member for something to happen to an object. No part of the state: telling changes nothing."""

from collections.abc import Callable
from typing import Generic, TypeVar

News = TypeVar("News")


class Listeners(Generic[News]):
    def __init__(self) -> None:
        self._listeners: list[Callable[[News], None]] = []

    def add(self, listener: Callable[[News], None]) -> None:
        self._listeners.append(listener)

    def remove(self, listener: Callable[[News], None]) -> None:
        self._listeners.remove(listener)

    def tell(self, news: News) -> None:
        for listener in list(self._listeners):
            listener(news)

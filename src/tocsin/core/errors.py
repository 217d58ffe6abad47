"""Errors that a person will read: one line, naming the cause and the cure.

Each class carries the exit code of the command line (docs/formats.md): 2 for bad input or a bad call, 3 for an
environment that lacks something.
"""


class TocsinError(Exception):
    """The base of every error that Tocsin raises on purpose."""

    exit_code = 1


class InputError(TocsinError):
    """A file, an option or a call is wrong. The text says where, what was expected and what was found."""

    exit_code = 2


class EnvironmentMissing(TocsinError):
    """The machine lacks something: Java, a free port, a permission. The text names the cure."""

    exit_code = 3


class DecodeError(TocsinError):
    """Bytes that are not a message of this protocol. Peers may send them; they are counted and dropped."""

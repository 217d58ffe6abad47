"""The properties as docs/guarantees.md states them, section by section, over rows in memory.

Read them beside that page. They serve whoever checks small histories often (the explorer, the swarm), and as the twin
that the array kernels are compared with (tests/agree). Times are linear in the rows, or in the rows times the messages
with a very small factor: sets of messages are integers with a bit for each, where sets of sets are needed.
"""

"""The audit of a run that goes on: rows come in batches, verdicts are asked for at any time, what is held is bounded.

`held` keeps the rows of the messages that are still open, `closing` finds those that can be answered for good, `watch`
adds up the answers. What each property means is not said here: the kernels decide (`properties/kernels`).
"""

"""Audits: which guarantees a trace of any size kept, and the smallest evidence where it did not."""

"""A group's order and state into a file, and a new group of it."""

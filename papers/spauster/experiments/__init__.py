"""What is measured: each class is an experiment that a grid names by its import path."""

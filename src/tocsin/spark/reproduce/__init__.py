"""The papers reproduced: every table, figure and claim, from grids that the sweep runs."""

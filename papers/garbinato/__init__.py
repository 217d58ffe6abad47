"""Garbinato, Pedone, Schmidt 2004: adaptive message diffusion in unreliable environments."""

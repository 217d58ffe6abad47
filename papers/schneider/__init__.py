"""Schneider, Gries, Schlichting 1982: Fast Reliable Broadcasts."""

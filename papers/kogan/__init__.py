"""Garcia-Molina, Kogan 1988: reliable broadcast on an unreliable multicast facility."""

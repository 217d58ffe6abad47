"""Garcia-Molina, Spauster 1988: Ordered and Reliable Multicast Communication."""

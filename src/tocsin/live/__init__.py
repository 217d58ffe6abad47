"""The live runtime: the only place with sockets, clocks and files. `tocsin.join` is its door."""

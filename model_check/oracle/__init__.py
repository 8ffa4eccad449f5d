"""The second engine: breadth-first search in plain Python, the reference for all others."""

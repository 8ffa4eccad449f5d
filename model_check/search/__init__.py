"""The embedded engine: breadth-first search on compiled code, and the properties of paths."""

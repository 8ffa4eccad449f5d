"""Specifications and uses of the tables, each tested."""

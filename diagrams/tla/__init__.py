"""A whole spec as a module of TLA+."""

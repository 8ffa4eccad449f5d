"""Decisions: pure functions that the models and the implementation both call, and the variants that an era chooses between."""

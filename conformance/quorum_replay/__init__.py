"""Replays the model of the quorum on the implementation: states are loaded, rules done as steps, results read back."""

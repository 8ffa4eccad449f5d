"""Replays the model of the quorum on the implementation: its states are loaded, its rules done as steps, the result is read back."""

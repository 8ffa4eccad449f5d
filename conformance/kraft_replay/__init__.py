"""Replays the KRaft model on the implementation: its states are loaded, its rules done as steps, and the result is read back."""

"""Replays the control-plane model on the implementation: its states, in both directions, and its rules as steps.

To compare an edge, load its source state, do its step, and read the state back: it must be the edge's target.
"""

"""Explains the logs of a real cluster as a run of the model: which rules, in which order, with what nobody logs filled in."""

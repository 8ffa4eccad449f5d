"""Runs of a KRaft cluster in virtual time."""

"""Definitions about graphs that all engines share."""

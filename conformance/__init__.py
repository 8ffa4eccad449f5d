"""Compares the model of spec/ with the implementation of impl/."""

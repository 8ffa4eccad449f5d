"""Holds the model of spec/ and the implementation of impl/ to each other."""

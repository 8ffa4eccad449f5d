"""Draws tables, traces and explored graphs from the objects of spec/. Nothing is built here yet."""

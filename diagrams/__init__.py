"""Draws tables, traces and explored graphs from the objects of spec/, lends the tables to others, holds the generated pictures."""

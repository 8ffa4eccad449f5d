"""Diagram and export tools for tables, traces and explored graphs; holds the generated pictures."""

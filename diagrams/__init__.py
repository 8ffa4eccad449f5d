"""Diagram and export tools for tables, traces and explored graphs; holds the generated pictures."""

if __name__ == "diagrams":
    raise ImportError("import kafka_spec.diagrams: the folder is a part of the package kafka_spec")

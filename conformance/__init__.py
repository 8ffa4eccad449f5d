"""Compares the model of spec/ with the implementation of impl/."""

if __name__ == "conformance":
    raise ImportError("import kafka_spec.conformance: the folder is a part of the package kafka_spec")

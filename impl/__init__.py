"""The reference implementation: a small Kafka control plane that executes the tables of spec/ on real storage."""

if __name__ == "impl":
    raise ImportError("import kafka_spec.impl: the folder is a part of the package kafka_spec")

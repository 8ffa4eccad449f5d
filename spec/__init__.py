"""What Kafka does, stated once: tables, rules and decisions. Needs the standard library only."""

if __name__ == "spec":
    raise ImportError("import kafka_spec.spec: the folder is a part of the package kafka_spec")

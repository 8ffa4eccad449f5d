"""Explores any spec of the vocabulary in spec/vocabulary/table/. Independent of Kafka."""

if __name__ == "model_check":
    raise ImportError("import kafka_spec.model_check: the folder is a part of the package kafka_spec")

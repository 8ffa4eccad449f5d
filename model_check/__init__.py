"""Explores any spec of the vocabulary in spec/table/. Independent of Kafka."""

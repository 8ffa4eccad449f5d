"""Explores any spec of the vocabulary in spec/vocabulary/table/. Independent of Kafka."""

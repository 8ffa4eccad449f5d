"""Explores any spec of the vocabulary in spec/table/. Knows no Kafka."""

"""Explores any spec of the vocabulary in spec/table.py. Knows no Kafka."""

"""What Kafka does, stated once: tables, rules and decisions. Needs the standard library only."""

from kafka_spec.spec.exchange import load_table

__all__ = ["load_table"]

"""What Kafka does, stated once: tables, rules and decisions. Needs the standard library only."""

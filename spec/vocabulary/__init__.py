"""What a specification is made of: tables, rules, properties, traces. Knows no Kafka."""

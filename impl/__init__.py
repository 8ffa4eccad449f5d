"""The reference implementation: a small Kafka control plane that executes the tables of spec/ on real storage."""

"""Clusters with real Kafka brokers on loopback, and runs in which this project's controller and brokers take part."""

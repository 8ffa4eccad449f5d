"""The public TLA+ model of Kafka 3.5's replication in KRaft, restated: another checker's counts hold for it."""

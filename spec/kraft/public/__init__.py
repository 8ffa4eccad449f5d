"""The public TLA+ models of Kafka 3.5's replication in KRaft and of KIP-966, restated: another checker's counts hold for them."""

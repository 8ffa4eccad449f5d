"""ZooKeeper: one interface, an adapter in memory, an adapter for real servers, and Kafka's znodes."""

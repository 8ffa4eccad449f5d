"""The controller of a broker: events, tasks, and Kafka's two tables that decide what becomes of partitions and replicas."""

"""The controller of a broker: events, tasks, and the row functions of Kafka's partition table and replica table."""

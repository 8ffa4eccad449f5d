"""A controller as a node of the quorum that keeps the metadata log: the tables of spec/quorum on Kafka's files."""

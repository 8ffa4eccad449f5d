"""The quorum of controllers: how Kafka's Raft elects a leader, replicates the metadata log, and changes its voters."""

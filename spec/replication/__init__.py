"""The data plane: one partition, its replicas, and the versions of the protocol that keeps their logs equal."""

"""The data plane: one partition, its replicas, and the versions of the replication protocol."""

"""The tables: the machines of a partition, a replica, a reassignment, and the deletion of a topic."""

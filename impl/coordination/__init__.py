"""ZooKeeper as the cluster sees it: one interface, an adapter in memory, and one for real servers."""

"""The properties of the ZooKeeper world, by subject."""

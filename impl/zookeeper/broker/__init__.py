"""A broker that is led by a ZooKeeper controller."""

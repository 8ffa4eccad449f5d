"""The ZooKeeper world: controller, coordination service, and the parts of a broker that follow a ZooKeeper controller."""

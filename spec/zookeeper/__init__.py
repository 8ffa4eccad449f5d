"""The control plane: controllers, ZooKeeper, brokers, and the channels between them."""

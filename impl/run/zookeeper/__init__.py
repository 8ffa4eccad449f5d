"""Runs of a cluster with ZooKeeper: its brokers, operators, faults and verdict, in simulations and on sockets."""

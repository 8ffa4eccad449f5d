"""Scripts that make a cluster of real Kafka brokers do what FINDINGS.md describes, one for each finding.

Each starts ZooKeeper and brokers of Kafka 2.7.2, 2.8.2 or 3.9.1, or a KRaft cluster of a later version, on loopback, in processes
of their own, and ends them. It prints what happened and what the clients lost. The exit code is 0 if the finding was seen, 1 if
not. A script needs the jars that `make kafka` fetches.
"""

"""The versions of the replication protocol, in historical order: each module is a small diff over an earlier one."""

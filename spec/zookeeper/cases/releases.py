"""The last release of Kafka with ZooKeeper: 3.9, read at 3.9.0-rc3.

What `releases` of a case says comes from Kafka's tags: the first that contains the commit of the fix, and for the beginning the
code at the tags before and after it.
"""

LAST = "3.9"

"""The last release of Kafka whose KRaft was read.

2.8 was the first with KRaft, as early access; 3.0 the first that anybody ran.
"""

LAST = "4.4"

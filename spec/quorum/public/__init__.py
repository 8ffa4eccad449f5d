"""The public TLA+ models PullRaft, KRaft and KRaftWithReconfig of Kafka's quorum, restated: the counts of TLC hold for them."""

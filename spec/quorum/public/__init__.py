"""The public TLA+ models of Kafka's quorum, PullRaft and KRaft, restated: another checker's counts hold for them."""

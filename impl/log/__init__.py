"""A partition's log on disk, in Kafka's files: segments with indexes, leader epochs, checkpoints."""

"""The properties of the KRaft world, by subject."""

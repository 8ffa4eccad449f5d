"""A trace of what KRaft's controller decides, written as a failing test for Kafka's own test class."""

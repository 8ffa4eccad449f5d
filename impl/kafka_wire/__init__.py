"""Kafka's wire protocol: requests and answers as bytes, and connections that carry them."""

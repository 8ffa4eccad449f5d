"""Findings as tests in Kafka's own idiom; they run on released Kafka, with and without a candidate fix."""

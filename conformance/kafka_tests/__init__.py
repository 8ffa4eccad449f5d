"""Findings as tests in Kafka's own idiom, from traces or by hand; they run on released Kafka, with and without a candidate fix."""

"""Tests of findings in Kafka's own idiom: written from traces or by hand, run on released Kafka with and without a candidate fix."""

"""The state-change and controller logs of real Kafka clusters, held to the project's tables."""

"""The metadata log of a KRaft cluster, held to the model: read, folded, judged record by record, and explained event by event."""

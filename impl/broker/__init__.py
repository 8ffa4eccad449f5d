"""A broker: its partitions and their roles, its answers to requests, its fetchers, and the ISRs that it keeps."""

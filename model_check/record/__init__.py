"""How a state becomes bytes: the packed record, its fingerprint, the counters beside it, the names of bounds."""

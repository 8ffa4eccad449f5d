"""The Spark engine: the search of the embedded engine, and its random walks, spread over machines; only here is Spark known."""

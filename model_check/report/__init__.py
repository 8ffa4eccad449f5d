"""Reports of results: text for people, JSON for programs."""

"""Files of a search: levels, checkpoints, and what identifies a search."""

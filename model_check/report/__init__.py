"""How a result is shown: as text for people, as JSON for programs."""

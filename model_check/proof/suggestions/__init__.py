"""Suggests lemmas: clauses that hold in the states of a search, of them those that every rule keeps, of these the few needed."""

"""Proofs by induction: rules and predicates as SMT formulas, and what a solver says of each rule and lemma."""

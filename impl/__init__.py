"""The reference implementation: executes the tables of spec/ on real storage. Nothing is built here yet."""

"""A cluster that runs: clients, tasks, a simulated network and a real one, faults, and what came of it."""

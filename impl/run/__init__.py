"""Runs of a cluster: clients, tasks, a simulated network and a real one, faults, and the verdict."""

"""Every model, machine and table of choices by its name."""

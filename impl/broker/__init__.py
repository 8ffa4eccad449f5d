"""A broker: its partitions and their roles, what it answers, what it fetches, who is in the ISR."""

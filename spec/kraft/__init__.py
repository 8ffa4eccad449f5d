"""KRaft: the controller as a function from state and event to one batch of the metadata log, and brokers that apply the log."""

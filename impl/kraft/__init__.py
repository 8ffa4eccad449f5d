"""KRaft: the metadata log with its records, the controller that writes it, and the brokers that apply it."""

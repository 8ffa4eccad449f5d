"""The meaning of a spec: the interpreter, which executes it in plain Python."""

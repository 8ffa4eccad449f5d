"""The states of the control-plane model on the implementation, both ways, and the model's rules as steps of the implementation.

What the proof rests on that model and implementation agree: an edge of the model is put on, stepped, and read back.
"""

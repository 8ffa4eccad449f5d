"""The explorer: walk through a model by hand, on a page on loopback or in the terminal.

`session.py` performs what the user asks for on a `Walk`; `server.py` and `terminal.py` are the two ways to ask.
"""

"""Compiled programs: what is compiled, under which key it is kept, and how it is called."""

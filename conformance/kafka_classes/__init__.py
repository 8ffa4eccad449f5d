"""Compares spec/ and impl/ with Kafka's own classes, on exhaustive small inputs and on thousands of random ones.

There is one module for each subject; subjects.py lists them. The classes come from Kafka's published jars (jars.py), and run in
this process (java.py).
"""

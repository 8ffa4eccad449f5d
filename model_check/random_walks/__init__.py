"""Random walks on compiled code, for bounds that no search completes. model_check/traces/walk.py walks step by step, as somebody asks."""

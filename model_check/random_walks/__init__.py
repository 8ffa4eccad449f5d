"""Random walks on compiled code, for bounds that no search completes. Interactive walks are in model_check/traces/walk.py."""

"""Machine code: LLVM text becomes functions, kept in the cache on disk."""

"""From the functions of a spec to the text of an LLVM module."""

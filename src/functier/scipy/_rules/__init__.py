"""Rules for SciPy's functions: one file a module of SciPy, imported where a tensor meets it."""

"""Rules for the factorizations of `scipy.linalg`."""

"""Rules for the norms and spaces of `scipy.linalg`."""

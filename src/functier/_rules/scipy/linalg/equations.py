"""Rules for the matrix equations of `scipy.linalg`."""

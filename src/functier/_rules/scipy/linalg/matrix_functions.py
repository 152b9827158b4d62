"""Rules for the functions of matrices of `scipy.linalg`."""

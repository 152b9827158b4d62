"""Rules for the matrices of a structure of `scipy.linalg`."""

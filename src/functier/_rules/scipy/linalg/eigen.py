"""Rules for the eigenvalues and singular values of `scipy.linalg`."""

"""Rules for the functions of `scipy.spatial`."""

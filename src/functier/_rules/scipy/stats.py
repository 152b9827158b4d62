"""Rules for the functions of `scipy.stats`."""

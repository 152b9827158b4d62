"""Rules for the functions of `scipy.integrate`."""

"""Rules for the functions of `scipy.signal`."""

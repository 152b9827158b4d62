"""Rules for the functions of `scipy.fft`."""

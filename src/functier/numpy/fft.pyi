from numpy.fft import *
from numpy.fft._helper import *  # for Jedi, see __init__.pyi
from numpy.fft._pocketfft import *

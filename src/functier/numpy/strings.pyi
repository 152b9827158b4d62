from numpy.strings import *

from numpy.testing import *

from numpy.linalg import *
from numpy.linalg._linalg import *  # for Jedi, see __init__.pyi

"""functier beside other libraries: speed, memory, and how the cost of an operation scales.

``python tests/bench/run.py --help`` has the options. In the order of reading:

- ``run.py``: the command, which sets the threads before anything numeric is imported
- ``workloads/``: what is timed, each with its gradient or batch written by hand in NumPy
- ``libraries.py``: each library behind the same names, in the idiom of its own users
- ``timing.py``: interleaved rounds, ratios, other load on the machine
- ``memory.py``, ``scaling.py``: what is no row of a table of times
- ``session.py``, ``report.py``: one run from start to end, and the table and picture of it
- ``pictures.py``: the pictures of levels in the design notes, which have no times
"""

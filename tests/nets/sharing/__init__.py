"""The parts of the net of shared memory: what is called, on which arrays, in which modes."""

"""The parts of the net of programs with given loops; see `nets.given`."""

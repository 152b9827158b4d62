"""The parts of the net of programs with loops; see `nets.loops`."""

"""The parts of the machine of programs that write; see `nets.writes`."""

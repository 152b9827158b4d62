"""The parts of the net of stale programs: the ways to change, where it stands, the run."""

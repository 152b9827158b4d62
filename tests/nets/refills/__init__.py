"""The parts of the net of refilled arrays: what keeps an array, how it is refilled, in which mode."""

"""The parts of the net of refilled arrays: what keeps an array, its refill, and the mode."""

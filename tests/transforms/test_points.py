"""The products of a Jacobian at a point, which sparse Jacobians are read from."""

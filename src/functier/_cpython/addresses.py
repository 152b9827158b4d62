"""Addresses: memory by its number, slots in C, and the types of descriptors."""

"""Nets: broad checks, each of which catches one kind of fault in whatever operation has it.

A net draws its cases from seeds and counts what became of each: right, refused or wrong. The
default run takes a slice of the seeds; ``pytest tests/nets --full`` runs all of them.
"""

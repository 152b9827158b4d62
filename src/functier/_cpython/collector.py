"""The collector and reference counts: who holds an object, and what it holds."""

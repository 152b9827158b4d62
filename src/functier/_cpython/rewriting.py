"""Rewriting: instructions of code objects as a list, put together again."""

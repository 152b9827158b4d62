"""Profiling: functions that the interpreter tells of each call while code runs."""

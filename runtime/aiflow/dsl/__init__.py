"""Graphs written in Python: `Flow` makes the same graph that the studio draws and saves."""

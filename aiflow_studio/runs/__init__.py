"""Runs: starts and follows sessions through `RunHost`; takes the snapshots that panels show.

Knows no panel. The studio knows the engine only through this room.
"""

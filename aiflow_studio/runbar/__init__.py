"""Run bar: start, drain, stop, strategy, and how the run stands.

A panel; imports no other panel.
"""

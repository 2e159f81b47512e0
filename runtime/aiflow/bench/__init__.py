"""Bench: measures of the engine against hand-written code.

Measures only; what a figure means for a run belongs to `analysis`. Imported by the command line.
"""

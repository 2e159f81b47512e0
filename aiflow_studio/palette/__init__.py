"""Palette: the operators there are, by category and by search; a drag starts here.

A panel; imports no other panel.
"""

"""Checks: one family of diagnostics a file, from AF1xx to AF6xx.

A check yields findings and never imports another check. Each code has a graph in graphs/broken/.
"""

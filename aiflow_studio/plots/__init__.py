"""Plots: queue depths and latencies over time; the only room that imports pyqtgraph.

`series` is pure, without Qt. A panel; imports no other panel.
"""

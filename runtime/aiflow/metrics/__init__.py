"""Metrics: what a running session counts, and all of it at one instant, frozen.

Instruments are plain integers that the engine's hot path may touch; reading a finished run
belongs to `analysis`. Imports events' and types' layers only; anyone above may import it.
"""

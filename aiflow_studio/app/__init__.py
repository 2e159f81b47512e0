"""App: the composition root; makes every object once, wires them, opens the window.

Everything else is handed what it needs from here, and nothing imports it.
"""

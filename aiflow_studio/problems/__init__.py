"""Problems: compiles after an edit and lists what the compiler found; a click leads there.

A panel; imports no other panel.
"""

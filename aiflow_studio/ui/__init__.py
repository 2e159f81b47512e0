"""UI: theme, dialogs, resources; Qt furniture that knows nothing of graphs or runs.

Imported by every room above; imports none of them.
"""

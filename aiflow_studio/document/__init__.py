"""Document: the one graph that is open, its undo stack, its file, the selection.

The document is the truth; views follow its one `changed` signal. Imported by panels and runs.
"""

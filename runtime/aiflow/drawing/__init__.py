"""Drawing: a graph as a picture for a page, a review or a print; nothing here runs one.

`picture` says what is to be seen, `layout` where, and a file each writes it down.
"""

"""Engine: runs a plan with guardians, bounded queues and workers, and keeps the books.

It knows no graph file and no operator by name. Here, and only here, cost beats generality.
Imported by whatever starts a session.
"""

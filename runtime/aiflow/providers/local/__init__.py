"""A small model on this machine: its server runs in a child process and dies with its parent."""

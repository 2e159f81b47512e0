"""Analysis: what the numbers of a run mean, for the command line and the studio alike.

It names the bottleneck and who waits for it, says when a queue will be full, and computes
what another policy would have done. It reads snapshots and plans and changes neither.
Imported by whatever shows or compares runs.
"""

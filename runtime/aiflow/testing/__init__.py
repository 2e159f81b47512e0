"""Testing: fakes, probes and contract suites for whoever writes operators or dialects.

Shipped, so that plug-ins are tested with the tools we use. Nothing in the library imports it.
"""

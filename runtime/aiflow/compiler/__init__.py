"""Compiler: a graph and a catalog become a plan, or diagnostics that say why not.

The only room that joins graph and operators. It never raises for a bad graph and runs nothing.
"""

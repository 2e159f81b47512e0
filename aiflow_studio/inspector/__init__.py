"""Inspector: a form made from an operator's params and the policy of a node.

`fields` is pure, without Qt; an invalid entry stays in the form and never reaches the document.
A panel; imports no other panel.
"""

"""Strategies of hypothesis that draw programs of NumPy code, and the transforms in which they run.

`programs` has what all of them share: a program is kept as statements, over an environment of
names with types, and is printed and run from the same text. One file has the statements of one
subject. `nestings` has the transforms, with what they mean by NumPy alone; `outcomes` says how two
calls differ, `reasons` which refusals are foreseen. `nets` runs a law over what is drawn, and
counts.
"""

"""The terms of the convoy reward, one module a subject.

Most functions in a module are the same term in different versions, under one name. What differs between
versions only by a number is a knob.
"""

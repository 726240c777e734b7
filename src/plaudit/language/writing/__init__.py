"""Writing: a Program as text, formulas and MathML."""

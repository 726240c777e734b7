"""What the tests of HackMatrix share: random states, the worked examples, and steps of the compiled game in batches."""

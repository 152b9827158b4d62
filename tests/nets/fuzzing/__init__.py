"""The parts of the fuzzer: what is drawn, recipes by subject, transforms, references."""

"""The parts of the fuzzer: what is drawn, the recipes by subject, the transforms, the references."""

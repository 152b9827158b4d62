"""The declarations of linear algebra: products, decompositions and systems of equations."""

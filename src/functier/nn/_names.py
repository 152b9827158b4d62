"""Names of torch's modules that functier's do not have, each with what to write instead."""

from typing import TYPE_CHECKING, NoReturn

HERE = "the module as it is: all arrays are in memory"
NAMES = {
    **dict.fromkeys(("to", "cuda", "cpu", "to_empty"), f"{HERE}; .astype(dtype) for another dtype"),
    "device": HERE,
    "backward": "functier.grad(loss)(module, x), which returns the gradient as a module",
    "zero_grad": "nothing: gradients are results, and nothing accumulates",
    "compile": "functier.compile(module)",
    "share_memory": HERE,
}


class Names:
    """The answer of a module to a name that it does not have."""

    if not TYPE_CHECKING:  # a type checker would take any name

        def __getattr__(self, name: str) -> NoReturn:
            hint = f"; write {NAMES[name]}" if name in NAMES else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{hint}",
                name=name,
                obj=self,
            )

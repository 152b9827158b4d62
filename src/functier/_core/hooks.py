"""Hooks: questions of earlier rooms, which functions of later rooms answer.

NOTE [who answers]
    An earlier room does not know the later ones. `functier._rooms`, which knows all, says where the
    function of each hook is. The first call imports its module. So a room is loaded when somebody
    needs it, and the rooms before it work where it is absent.
"""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

PACKAGE = __name__.partition(".")[0]


class Hook:
    """A question that a function of a later room answers.

    Attributes
    ----------
    question : str
        The question, in one sentence.
    place : str
        The module that has the function, and its name there.
    """

    def __init__(self, question: str):
        self.question, self.place = question, ""

    @cached_property
    def answer(self) -> Callable[..., Any]:
        """The function, whose module is imported when it is first asked for."""
        module, _, name = self.place.rpartition(".")
        return getattr(import_module(f"{PACKAGE}.{module}"), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.answer(*args, **kwargs)


# ---- arrays of Dask, which a tensor may hold ----

chunked_as = Hook("What is a cotangent in the chunks of the Dask array that it belongs to?")
lazy_argument = Hook("How does a function that is not differentiated take a Dask array?")
lazy_attribute = Hook("What is an attribute of a Dask array in a tensor?")
lazy_one = Hook("What is the number 1 for a Dask array without axes?")
lazy_positions = Hook("Which number has each element of a Dask array of a shape?")
set_lazy_item = Hook("How does a Dask array get other elements?")
take_in = Hook("What does a level compute with for a Dask array that it is given?")

# ---- writes, and where results lie in memory ----

add_in_memory = Hook("What is the sum of many pieces, each at an index, by writes to one memory?")
at_body = Hook("What is the body of a ufunc's method ``at``?")
complex_of = Hook("What is the complex value of a real and an imaginary part?")
note_copy = Hook("Is a copy noted as a view from its first write on, as NumPy has a view there?")
note_layout = Hook("In which order does NumPy's result of a call lie?")

# ---- names and operators of other libraries ----

array_namespace = Hook("What is the namespace of tensors for the standard of the array API?")
operate_sparse = Hook("What is an operator of a tensor and a sparse matrix of SciPy?")
is_copied = Hook("Does a function of SciPy run as a copy of its code?")
scipy_twin = Hook("What is functier's twin of an object of SciPy, which has a path?")

# ---- what runs around levels ----

bar_of_chunks = Hook("What shows how many chunks of a batch have been computed?")
loop_over_chunks = Hook("What runs a batch in parts as one loop, where steps are recorded?")
place_of = Hook("Which expression leads to a tensor of a class that a module keeps?")
slope = Hook("What is a zero that was chosen as a derivative?")

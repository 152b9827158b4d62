"""The programs of "Functorch: Levels as dynamically allocated classes", over NumPy.

    python examples/essay.py

The essay proposed to give every call of a transform a new class, so that ordinary dispatch on
classes does the work that integer levels did. Each function below is one of its programs, in its
order, and prints what happens.
"""

import numpy as np

from functier import EscapedTensorError, Tensor, depth_of, no_dispatch, vmap

rng = np.random.default_rng(0)


def heading(text):
    print(f"\n{text}\n{'-' * len(text)}")


def hierarchy(x):
    """The classes of a tensor, outermost first."""
    names = [cls.__name__ for cls in type(x).__mro__ if cls is not object]
    return " <- ".join(reversed(names))


# ---- subclass dispatch ----


class Parent(Tensor):
    """Prints when it is asked, and leaves the answer to `Tensor`."""

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        print(f"  {cls.__name__} is asked for {func.__name__}")
        return super().__tensor_function__(func, types, args, kwargs)


class Child(Parent):
    """Knows its parent, so it is asked first."""


class Unrelated(Tensor):
    """Knows neither of the two, but accepts their values."""

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        print(f"  {cls.__name__} is asked for {func.__name__}")
        args = [cls(x.elem()) if isinstance(x, Tensor) else x for x in args]
        return super().__tensor_function__(func, (cls,), args, kwargs)


class Strict(Tensor):
    """Declines if `types` has a class that it does not know."""


def dispatch_order():
    heading("Subclasses first, then left to right, until one can answer")
    programs = [
        (Parent([1.0, 2.0]), Parent([10.0, 20.0])),
        (Parent([1.0, 2.0]), Child([10.0, 20.0])),
        (Parent([1.0, 2.0]), Unrelated([10.0, 20.0])),
    ]
    for a, b in programs:
        print(f"np.add({type(a).__name__}, {type(b).__name__})")
        print(f"  -> {np.add(a, b)}")


def type_testing():
    heading("The types that a hook is handed are checked")
    print("np.add(Parent, Strict)")
    try:
        np.add(Parent([1.0]), Strict([2.0]))
    except TypeError as error:
        print(f"  TypeError: {error}")


# ---- levels ----


def nested_vmap():
    heading("Nested vmap: (10, 2) and (15, 2) give (10, 15, 2)")
    xs, ys = rng.normal(size=(10, 2)), rng.normal(size=(15, 2))
    result = vmap(lambda x: vmap(lambda y: x + y)(ys))(xs)
    print(f"vmap(lambda x: vmap(lambda y: x + y)(ys))(xs) has shape {result.shape}")
    print(f"equal to xs[:, None] + ys: {np.array_equal(result, xs[:, None] + ys)}")


def class_hierarchy():
    heading("Every level is a class, and an inner level a subclass of the outer")
    xs, ys = np.zeros((10, 2)), np.zeros((15, 2))

    def outer(x):
        def inner(y):
            z = x + y
            for name, value in [("x", x), ("y", y), ("x + y", z)]:
                print(f"{name:5}  depth {depth_of(value)}  {hierarchy(value)}")
            print(f"type(y) is a subclass of type(x): {issubclass(type(y), type(x))}")
            print(f"type(x + y) is type(y): {type(z) is type(y)}")
            return z

        return vmap(inner)(ys)

    vmap(outer)(xs)


def lexical_escape():
    heading("A tensor that escapes into another vmap is refused, whatever the sizes")
    box = [None]

    def write(x):
        box[0] = x
        return x

    def read(y):
        return box[0] + y

    xs = rng.normal(size=(10, 2))
    for n in (20, 10):
        ys = rng.normal(size=(n, 10, 2))
        print(f"batch sizes 10 and {n}:")
        print(f"  vmap(write)(xs) has shape {vmap(write)(xs).shape}")
        try:
            vmap(read)(ys)
        except EscapedTensorError as error:
            print(f"  EscapedTensorError: {error}")


# ---- the imperative style ----


def imperative_vmap():
    heading("with vmap() as B0, vmap() as B1")
    xs, ys = rng.normal(size=(10, 2)), rng.normal(size=(15, 2))
    with vmap() as B0, vmap() as B1:
        x = B0(xs)
        y = B1(ys)
        z = x + y
        print(f"x + y has shape {z.shape} and class {hierarchy(z)}")
        result = B0.unwrap(B1.unwrap(z))
    print(f"B0.unwrap(B1.unwrap(x + y)) has shape {result.shape}")


def dead_escape():
    heading("Escaping the context manager: a dead tensor")

    def foo(xs):
        with vmap() as B0:
            x = B0(xs)
        return x

    x = foo(np.arange(3.0))
    try:
        x + 1
    except EscapedTensorError as error:
        print(f"x + 1: EscapedTensorError: {error}")
    print(f"x.elem(): {x.elem()}")


def passthrough_escape():
    heading("Escaping the context manager: a tensor that passes through")

    def foo(xs):
        with vmap(escape="passthrough") as B0:
            x = B0(xs)
        return x

    x = foo(np.arange(3.0))
    print(f"x + 1: {x + 1}")


def unwrap_before_the_end():
    heading("Escaping the context manager: nothing escapes")

    def foo(xs):
        with vmap() as B0:
            x = B0(xs)
            return B0.unwrap(x * x)

    print(f"B0.unwrap(x * x): {foo(np.arange(3.0))}")


# ---- the appendix ----


class Logged(Tensor):
    """Computes on its values without calling itself again."""

    @classmethod
    def __tensor_function__(cls, func, types, args=(), kwargs=None):
        print(f"  Logged is asked for {func.__name__}")
        with no_dispatch(cls):
            return cls(func(*args, **(kwargs or {})))


def switching_dispatch_off():
    heading("no_dispatch: a hook that calls NumPy on its own instances")
    x = Logged([1.0, 2.0])
    print("np.multiply(x, x)")
    print(f"  -> {np.multiply(x, x)}")
    print("with no_dispatch(Logged)")
    with no_dispatch(Logged):
        print(f"  -> {np.multiply(x, x)!r}, a {type(np.multiply(x, x)).__name__}")


def main():
    dispatch_order()
    type_testing()
    nested_vmap()
    class_hierarchy()
    lexical_escape()
    imperative_vmap()
    dead_escape()
    passthrough_escape()
    unwrap_before_the_end()
    switching_dispatch_off()


if __name__ == "__main__":
    main()

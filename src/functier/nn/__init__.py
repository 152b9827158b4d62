"""Neural networks: modules with parameters, their functions, and initial values.

The names are those of ``torch.nn``. A `Module` holds NumPy arrays and is a pytree, so every
transform takes one: ``grad(loss)(module, x, y)`` is a module of gradients. What has parameters
or buffers is a module, with a function of `functional` for what it computes; what has none is
such a function first, and the modules of activations and pooling only call it.
"""

# Imports `_core`, `_rules`, `_transforms` and `random`.

from . import functional as functional
from . import init as init
from ._containers import ModuleDict as ModuleDict
from ._containers import ModuleList as ModuleList
from ._containers import Sequential as Sequential
from ._hooks import RemovableHandle as RemovableHandle
from ._layers import GELU as GELU
from ._layers import AvgPool2d as AvgPool2d
from ._layers import Conv2d as Conv2d
from ._layers import Dropout as Dropout
from ._layers import Embedding as Embedding
from ._layers import Flatten as Flatten
from ._layers import LayerNorm as LayerNorm
from ._layers import Linear as Linear
from ._layers import MaxPool2d as MaxPool2d
from ._layers import ReLU as ReLU
from ._layers import Sigmoid as Sigmoid
from ._layers import Softmax as Softmax
from ._layers import Tanh as Tanh
from ._module import Module as Module
from ._parameter import Parameter as Parameter
from ._random import manual_seed as manual_seed

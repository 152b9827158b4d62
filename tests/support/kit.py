"""The kit: the private names of the kernel that the outer rooms take, by their modules.

Rooms import `functier.protocol`, what functier exports, and these names. To add one, say in design
note 18 why a room cannot do without.
"""

KIT = {
    "_transforms.chunks.streams": "record_draws stream_here",
    "_control.effects": "Effects VISIBLE",
    "_control.masks": "Surroundings bare narrow",
    "_core.adopted": "ADOPTED",
    "_core.agreement": "agreed examples_of",
    "_core.ambient": "AMBIENT",
    "_core.border": "check_leaf has_tensors",
    "_core.cards": "folded",
    "_core.foreign": "register_result",
    "_core.foreign_operators": "array_for_operator",
    "_core.key_orders": "NAMESPACE",
    "_core.hidden": "is_of_memory",
    "_core.methods": "METHODS",
    "_core.mirror": "Mirror",
    "_core.numpy_facts": (
        "PLAIN Shape UFUNC_OF Value align dtype_of known_type name_of shape_of sum_to"
    ),
    "_core.blocks": "EVENTS",
    "_core.peers": "answering",
    "_core.pytree": (
        "check_callable differing flatten instead_of is_value like name_of_function parts_of "
        "paths"
    ),
    "_core.reached": "Generators",
    "_core.root": "classes_in dispatch_lists opts_out tree_map",
    "_core.sharing": "sharing_of",
    "_core.subclasses": "OVER_TENSORS",
    "_core.table": "find",
    "_core.tensor": "canonical",
    "_core.tracebacks": "checks_keywords leave",
    "_core.unsettled": "is_finite",
    "_levels.cotangents": "cast",
    "_levels.kept": "owned",
    "_levels.runs": "run",
    "_levels.lineage": "levels_of",
    "_levels.memory": "meet",
    "_levels.raised": "Outcomes",
    "_levels.stores": "LevelStore",
    "_levels.backward": "Stretch",
    "_mutation.array": "Array array_holding is_array is_scalar lend make_writable plain_arguments "
    "settle was_written",
    "_mutation.stores": "may_meet window_of",
    "_rules.axes": "as_array is_known_false normalize",
    "_rules.constructors": "check_values",
    "_rules.elementwise": "softmax_share",
    "_rules.fft": "declare_transform",
    "_rules.indexing": "add_at fill_holes getitem place read_at",
    "_rules.linalg.contract": "conj",
    "_rules.linalg.gaps": "check_choice",
    "_rules.linalg.orthogonal": "adjoint reciprocal",
    "_rules.linalg.lstsq": "least_squares",
    "_rules.velocities": "beta_velocities gamma_velocity",
    "_transforms.points": "Point Settings",
    "_custom.steps": "Step",
    "modes._asking": "ask_through",
    "random._sampling": "Seed",
}  # fmt: skip
"""The names of each module, which `tests/project/test_kit.py` compares with what the rooms take."""

NAMES = {f"functier.{module}.{name}" for module, names in KIT.items() for name in names.split()}

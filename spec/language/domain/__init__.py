"""Domains: the values that a field of a state may have, declared with the field.

A state is a tree of dataclasses whose fields carry a *domain* (`hw: int = field(Range(0, LOG_SIZE))`). A domain may mention
*bounds*, the named limits of an exploration. `Space(State, bounds)` fixes them and yields a tree of *types* (scalar, array,
sequence, record). Everything else is derived from the types: fresh values, copies, equality, differences, printing, and in the
engines dtype and bytes.

Theory of operation. Rules run as ordinary Python on these values, and as compiled code in the engines; both must agree. So a value
refuses operations that compiled code cannot do: a store outside its domain, an index outside its sequence (also a negative one), a
copy by assignment. A limit written as a number is an assertion: exceeding it is an `OutOfDomain`, an error of the
specification. A limit that comes from a `Bound` only restricts the exploration: exceeding it is an `OutOfBound`, and the engines
drop that step, count it and name it.
"""

from kafka_spec.spec.language.domain.elements import add, count, has, remove
from kafka_spec.spec.language.domain.limits import BadAccess, Bound, Limit, Number, OutOfBound, OutOfDomain, SpecError
from kafka_spec.spec.language.domain.members import (
    NO_BROKERS,
    NO_MEMBERS,
    NONE,
    BrokerSet,
    MemberSet,
    contains,
    excluding,
    first_brokers,
    first_members,
    including,
    members_of,
    set_of,
    show_set,
    singleton,
    size,
)
from kafka_spec.spec.language.domain.operations import append, assign, kept_inside, pop_first, reset, truncate
from kafka_spec.spec.language.domain.options import drop, present, put, value_of
from kafka_spec.spec.language.domain.records import SPENT, Counters, Spent, domain_of, field, message, tagged
from kafka_spec.spec.language.domain.scalars import Domain, Flag, Member, MemberOrNone, OneOf, Range, StateOf, Subset
from kafka_spec.spec.language.domain.sequences import ArrayOf, BagOf, Distinct, Elements, MapOf, Option, Queue, SequenceOf, SetOf
from kafka_spec.spec.language.domain.space import (
    Change,
    Path,
    Space,
    machine_paths,
    machine_range,
    path_of,
    plain_value,
    show_path,
    show_value,
    type_at,
    value_at,
)
from kafka_spec.spec.language.domain.types import (
    Array,
    Collection,
    Items,
    Map,
    Maybe,
    Record,
    Scalar,
    Sequence,
    Type,
    as_fired,
    count_firing,
    item_at,
    items_of,
)

__all__ = [
    "NONE", "NO_BROKERS", "NO_MEMBERS", "SPENT", "Array", "ArrayOf", "BadAccess", "BagOf", "Bound", "BrokerSet", "Change",
    "Collection", "Counters", "Distinct", "Domain", "Elements", "Flag", "Items", "Limit", "Map", "MapOf", "Maybe", "Member",
    "MemberOrNone", "MemberSet", "Number", "OneOf", "Option", "OutOfBound", "OutOfDomain", "Path", "Queue", "Range", "Record",
    "Scalar", "Sequence", "SequenceOf", "SetOf", "Space", "SpecError", "Spent", "StateOf", "Subset", "Type", "add", "append",
    "as_fired", "assign", "contains", "count", "count_firing", "domain_of", "drop", "excluding", "field", "first_brokers",
    "first_members", "has", "including", "item_at", "items_of", "kept_inside", "machine_paths", "machine_range", "members_of",
    "message", "path_of", "plain_value", "pop_first", "present", "put", "remove", "reset", "set_of", "show_path", "show_set",
    "show_value", "singleton", "size", "tagged", "truncate", "type_at", "value_at", "value_of",
]  # fmt: skip

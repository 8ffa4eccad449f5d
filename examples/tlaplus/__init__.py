"""Specifications of the TLA+ examples (github.com/tlaplus/Examples), written again: as many states as TLC finds in each.

`MODELS` names for each the configuration of TLC, and the states that the manifest there records.
"""

from __future__ import annotations

from dataclasses import dataclass

from examples.tlaplus.allocator import ALLOCATOR
from examples.tlaplus.alternating_bit import ALTERNATING_BIT
from examples.tlaplus.barrier import BARRIER
from examples.tlaplus.chameneos import CHAMENEOS_MEET
from examples.tlaplus.chang_roberts import CHANG_ROBERTS
from examples.tlaplus.cigarette_smokers import CIGARETTE_SMOKERS
from examples.tlaplus.coffee_can import COFFEE_CAN
from examples.tlaplus.ewd840 import EWD840
from examples.tlaplus.game_of_life import GAME_OF_LIFE
from examples.tlaplus.lamport_mutex import LAMPORT_MUTEX
from examples.tlaplus.paxos_commit import PAXOS_COMMIT
from examples.tlaplus.peterson import PETERSON
from examples.tlaplus.philosophers import PHILOSOPHERS
from examples.tlaplus.prisoners import PRISONERS
from examples.tlaplus.readers_writers import READERS_WRITERS
from examples.tlaplus.simple_regular import SIMPLE_REGULAR
from examples.tlaplus.token_ring import TOKEN_RING
from examples.two_phase_commit import TWO_PHASE_COMMIT
from kafka_spec import Spec


@dataclass(frozen=True)
class Model:
    """A specification, and the model of TLC that has as many states as it has at its first bounds."""

    spec: Spec
    config: str
    """The configuration, in the folder `specifications` of tlaplus/Examples."""
    states: int
    """The distinct states that the manifest there records."""
    module: str = ""
    """The module, if its name is not that of the configuration."""


MODELS = (
    Model(CIGARETTE_SMOKERS, "CigaretteSmokers/CigaretteSmokers.cfg", 6),
    Model(PETERSON, "locks_auxiliary_vars/Peterson.cfg", 42),
    Model(BARRIER, "barriers/Barrier.cfg", 64),
    Model(PHILOSOPHERS, "DiningPhilosophers/DiningPhilosophers.cfg", 67),
    Model(CHANG_ROBERTS, "chang_roberts/MCChangRoberts.cfg", 137),
    Model(PRISONERS, "Prisoners/Prisoners.cfg", 214),
    Model(ALTERNATING_BIT, "SpecifyingSystems/TLC/MCAlternatingBit.cfg", 240),
    Model(TWO_PHASE_COMMIT, "transaction_commit/TwoPhase.cfg", 288),
    Model(EWD840, "ewd840/EWD840.cfg", 302),
    Model(ALLOCATOR, "allocator/SimpleAllocator.cfg", 400),
    Model(READERS_WRITERS, "ReadersWriters/MC.cfg", 21_527),
    Model(CHAMENEOS_MEET, "Chameneos/Chameneos.cfg", 34_534),
    Model(TOKEN_RING, "ewd426/TokenRing.cfg", 46_656),
    Model(GAME_OF_LIFE, "GameOfLife/GameOfLife.cfg", 65_536),
    Model(SIMPLE_REGULAR, "TeachingConcurrency/SimpleRegular.cfg", 277_726),
    Model(COFFEE_CAN, "CoffeeCan/CoffeeCan1000Beans.cfg", 501_500, "CoffeeCan"),
    Model(LAMPORT_MUTEX, "lamport_mutex/MCLamportMutex.cfg", 724_274),
    Model(PAXOS_COMMIT, "transaction_commit/PaxosCommit.cfg", 1_321_761),
)

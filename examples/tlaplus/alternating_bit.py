"""The alternating bit protocol over channels that lose messages (SpecifyingSystems/TLC/AlternatingBit.tla)."""

from dataclasses import dataclass

from kafka_spec import (
    Bound,
    BoundSet,
    Flag,
    ItemOf,
    Member,
    Range,
    Rule,
    SequenceOf,
    Spec,
    append,
    assign,
    field,
    leads_to,
    pop_first,
    truncate,
)

DATA = Bound("data", 1, 3, "different values")
ROOM = Bound("room", 1, 3, "messages in a channel")


@dataclass
class Message:
    """A value with its bit."""

    bit: int = field(Flag())
    value: int = field(Member(DATA, "value"))


@dataclass
class Link:
    """The channels, the bits of sender and receiver, and what was sent and received last."""

    messages: list[Message] = field(SequenceOf(Message, ROOM))
    acks: list[int] = field(SequenceOf(Flag(), ROOM))
    sent_bit: int = field(Flag())
    acked_bit: int = field(Flag())
    received_bit: int = field(Flag())
    sent: int = field(Member(DATA, "value"))
    received: int = field(Member(DATA, "value"))


def begin(s: Link, bit: int, sent: int, received: int) -> None:
    """Any bit, and any values."""
    s.sent_bit = bit
    s.acked_bit = bit
    s.received_bit = bit
    s.sent = sent
    s.received = received


def is_acked(s: Link) -> bool:
    """What was sent is acknowledged."""
    return s.acked_bit == s.sent_bit


def send(s: Link, value: int) -> None:
    """Send a new value."""
    s.sent = value
    s.sent_bit = 1 - s.sent_bit
    append(s.messages, Message(s.sent_bit, value))


def is_unacked(s: Link) -> bool:
    """What was sent is not acknowledged."""
    return s.acked_bit != s.sent_bit


def send_again(s: Link) -> None:
    """Send the value again."""
    append(s.messages, Message(s.sent_bit, s.sent))


def has_message(s: Link) -> bool:
    """A message is under way."""
    return len(s.messages) > 0


def receive(s: Link) -> None:
    """Receive a message."""
    s.received_bit = s.messages[0].bit
    s.received = s.messages[0].value
    pop_first(s.messages)


def ack(s: Link) -> None:
    """Acknowledge what was received."""
    append(s.acks, s.received_bit)


def has_ack(s: Link) -> bool:
    """An acknowledgement is under way."""
    return len(s.acks) > 0


def receive_ack(s: Link) -> None:
    """Receive an acknowledgement."""
    s.acked_bit = s.acks[0]
    pop_first(s.acks)


def lose_message(s: Link, place: int) -> None:
    """Lose a message."""
    for other in range(place + 1, len(s.messages)):
        assign(s.messages[other - 1], s.messages[other])
    truncate(s.messages, len(s.messages) - 1)


def lose_ack(s: Link, place: int) -> None:
    """Lose an acknowledgement."""
    for other in range(place + 1, len(s.acks)):
        s.acks[other - 1] = s.acks[other]
    truncate(s.acks, len(s.acks) - 1)


def is_under_way(s: Link, value: int) -> bool:
    """The value was sent, and is not acknowledged."""
    return s.sent == value and is_unacked(s)


def is_received(s: Link, value: int) -> bool:
    """The value was received."""
    return s.received == value


ALTERNATING_BIT = Spec(
    "alternating bit",
    "values arrive over channels that lose messages",
    Link,
    (
        Rule("Send", "sender", "{value} is sent", "", (send,), {"value": Member(DATA, "value")}, (is_acked,), fairness="none"),
        Rule("SendAgain", "sender", "it is sent again", "", (send_again,), {}, (is_unacked,)),
        Rule("Receive", "receiver", "a message arrives", "", (receive,), {}, (has_message,), fairness="strong"),
        Rule("Ack", "receiver", "an acknowledgement is sent", "", (ack,)),
        Rule("ReceiveAck", "sender", "an acknowledgement arrives", "", (receive_ack,), {}, (has_ack,), fairness="strong"),
        Rule("LoseMessage", "channel", "a message is lost", "", (lose_message,), {"place": ItemOf("messages")}, fairness="none"),
        Rule("LoseAck", "channel", "an acknowledgement is lost", "", (lose_ack,), {"place": ItemOf("acks")}, fairness="none"),
    ),
    (leads_to("Arrives", is_under_way, is_received, "what was sent arrives", each={"value": DATA}),),
    start=Rule(
        "Begin",
        "link",
        "the bit is {bit}",
        "",
        (begin,),
        {"bit": Flag(), "sent": Member(DATA, "value"), "received": Range(0, DATA - 1)},
    ),
    bound_sets=(BoundSet("tlc", {"data": 2, "room": 2}, "the bounds of the original"),),
)

"""Kafka's classes in this process: one Java with the jars of one version, and the conversions between Python and Scala.

It is the only module that imports JPype. Nothing here knows a subject.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_spec.spec.optional_dependencies import needing

with needing("kafka"):
    import jpype

HEAP = "-Xmx512m"
EXCEPTION: type[Exception] = jpype.JException
"""The base class of exceptions that Java throws."""


class Kafka:
    """The classes of one version of Kafka; a process can have one."""

    failure = EXCEPTION
    """What is caught where Kafka may fail, by modules that are read without JPype."""

    def __init__(self, version: str, jars: Sequence[Path]) -> None:
        """Start Java with these jars; Kafka's own log stays silent."""
        self.version = version
        if not jpype.isJVMStarted():
            options = (HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.admin.enableServer=false")
            jpype.startJVM(*options, "-Dzookeeper.forceSync=no", classpath=[str(jar) for jar in jars], convertStrings=False)
            if any("log4j" in jar.name or "reload4j" in jar.name for jar in jars):
                level = jpype.JClass("org.apache.log4j.Level").OFF
                jpype.JClass("org.apache.log4j.LogManager").getRootLogger().setLevel(level)

    @functools.cached_property
    def _converters(self) -> Any:
        return self.named("scala.jdk.javaapi.CollectionConverters")

    @functools.cached_property
    def none(self) -> Any:
        """The empty Option."""
        return self.singleton("scala.None")

    # Classes

    @functools.cache  # noqa: B019 - one object for the life of the process
    def named(self, name: str) -> Any:
        """Return a class by its full name."""
        return jpype.JClass(name)

    @functools.cache  # noqa: B019
    def singleton(self, name: str) -> Any:
        """Return a Scala object by its full name."""
        return getattr(jpype.JClass(f"{name}$"), "MODULE$")

    def partition(self, topic: str, partition: int) -> Any:
        """Return a TopicPartition."""
        return self.named("org.apache.kafka.common.TopicPartition")(topic, partition)

    def has(self, name: str) -> bool:
        """Whether there is a class of this name."""
        try:
            self.named(name)
        except TypeError:
            return False
        return True

    def first_of(self, *names: str) -> Any:
        """Return the first of these classes that there is."""
        return self.named(next((name for name in names[:-1] if self.has(name)), names[-1]))

    @functools.cache  # noqa: B019
    def _method(self, kind: Any, name: str, count: int) -> Any:
        (found,) = (m for m in kind.getDeclaredMethods() if str(m.getName()) == name and m.getParameterCount() == count)
        found.setAccessible(True)
        return found

    def call(self, target: Any, method: str, *arguments: Any) -> Any:
        """Call a method of the target's class that need not be public; numbers are passed boxed."""
        return self._method(target.getClass(), method, len(arguments)).invoke(target, list(arguments))

    def made(self, name: str) -> Any:
        """Return a new object of a class whose constructor without arguments need not be public."""
        found = self._load(name).getDeclaredConstructor([])
        found.setAccessible(True)
        return found.newInstance([])

    @functools.cache  # noqa: B019
    def constructor(self, name: str, count: int) -> Callable[..., Any]:
        """Return the constructor with so many arguments, which need not be public; numbers are passed boxed."""
        (found,) = (one for one in self._load(name).getDeclaredConstructors() if one.getParameterCount() == count)
        found.setAccessible(True)
        return lambda *arguments: found.newInstance(list(arguments))

    @functools.cache  # noqa: B019
    def _load(self, name: str) -> Any:
        return jpype.JClass("java.lang.Class").forName(name)

    def implementing_hidden(self, interface: str, methods: Mapping[str, Callable[..., Any]]) -> Any:
        """Return an object of an interface that need not be public; the methods return nothing."""

        def invoke(_: Any, method: Any, arguments: Any) -> None:
            methods[str(method.getName())](*arguments)

        kind = self._load(interface)
        handler = jpype.JProxy("java.lang.reflect.InvocationHandler", dict={"invoke": invoke})
        return jpype.JClass("java.lang.reflect.Proxy").newProxyInstance(kind.getClassLoader(), [kind], handler)

    def cause(self, error: Exception) -> Any:
        """Return what a method that was called by reflection has thrown."""
        wrapped = isinstance(error, jpype.JClass("java.lang.reflect.InvocationTargetException"))
        return error.getCause() if wrapped else error  # type: ignore[attr-defined]

    def put(self, target: Any, field: str, value: Any) -> None:
        """Put a value into a private field of the target, which may be final."""
        self._field(target, field).set(target, value)

    def held(self, target: Any, field: str) -> Any:
        """Return what a private field of the target holds."""
        return self._field(target, field).get(target)

    def _field(self, target: Any, name: str) -> Any:
        """Return a field of the target's class, or of the nearest one above that declares it."""
        kind = target.getClass()
        while not any(str(one.getName()) == name for one in kind.getDeclaredFields()):
            kind = kind.getSuperclass()
        found = kind.getDeclaredField(name)
        found.setAccessible(True)
        return found

    def call_hidden(self, target: Any, method: str) -> None:
        """Call a private method without arguments."""
        found = target.getClass().getSuperclass().getDeclaredMethods()
        (one,) = (m for m in found if str(m.getName()).endswith(method))
        one.setAccessible(True)
        one.invoke(target, [])

    # From Python to Scala

    def boxed(self, value: Any) -> Any:
        """Return an Integer for an int, and other values as they are."""
        return self.named("java.lang.Integer")(value) if type(value) is int else value

    def long(self, value: int) -> Any:
        """Return a Long."""
        return self.named("java.lang.Long")(value)

    def java_list(self, values: Iterable[Any]) -> Any:
        """Return an ArrayList."""
        found = self.named("java.util.ArrayList")()
        for value in values:
            found.add(self.boxed(value))
        return found

    def array(self, kind: str, values: Sequence[Any]) -> Any:
        """Return an array of objects of a class."""
        return jpype.JArray(self.named(kind))(values)

    def integers(self, values: Sequence[int]) -> Any:
        """Return an array of int."""
        return jpype.JArray(jpype.JInt)(values)

    def implementing(self, interface: str, methods: Mapping[str, Callable[..., Any]]) -> Any:
        """Return an object of a Java interface with these methods."""
        return jpype.JProxy(interface, dict=dict(methods))

    def sequence(self, values: Iterable[Any]) -> Any:
        """Return an immutable List, which is a Seq too."""
        return self._converters.asScala(self.java_list(values)).toList()

    def set(self, values: Iterable[Any]) -> Any:
        """Return an immutable Set."""
        return self._converters.asScala(self.java_list(values)).toSet()

    def mapping(self, values: Mapping[Any, Any]) -> Any:
        """Return a Map."""
        found = self.named("java.util.LinkedHashMap")()
        for key, value in values.items():
            found.put(self.boxed(key), self.boxed(value))
        return self._converters.asScala(found)

    def option(self, value: Any) -> Any:
        """Return an Option, which is empty for None."""
        return self.none if value is None else self.named("scala.Option").apply(self.boxed(value))

    def pair(self, first: Any, second: Any) -> Any:
        """Return a tuple of two."""
        return self.named("scala.Tuple2")(self.boxed(first), self.boxed(second))

    def triple(self, first: Any, second: Any, third: Any) -> Any:
        """Return a tuple of three."""
        return self.named("scala.Tuple3")(first, second, third)

    def bytes(self, data: bytes) -> Any:
        """Return an array of bytes."""
        return jpype.JArray(jpype.JByte)(data)

    def function(self, methods: Mapping[str, Callable[..., Any]]) -> Any:
        """Return a Function0 with these methods."""
        return jpype.JProxy("scala.Function0", dict=dict(methods))

    def strings(self, values: Iterable[str]) -> Any:
        """Return an array of strings."""
        return jpype.JArray(jpype.JString)(list(values))

    def printed(self, action: Callable[[], object]) -> str:
        """Return what Scala code prints."""
        stream = self.named("java.io.ByteArrayOutputStream")()

        def run() -> Any:
            action()

        self.named("scala.Console").withOut(stream, self.function({"apply": run}))
        return str(stream.toString("UTF-8"))

    # From Scala to Python

    def listed(self, values: Any) -> list[Any]:
        """Return the elements of a Scala or Java collection, numbers as int."""
        if not isinstance(values, self.named("java.lang.Iterable")):
            values = self._converters.asJava(values)
        return [_plain(value) for value in values]

    def numbers(self, values: Any) -> tuple[int, ...]:
        """Return the elements of a collection of numbers."""
        return tuple(int(value) for value in self.listed(values))

    def items(self, values: Any) -> list[tuple[Any, Any]]:
        """Return keys and values of a Scala or Java map."""
        if not isinstance(values, self.named("java.util.Map")):
            values = self._converters.asJava(values)
        return [(_plain(entry.getKey()), _plain(entry.getValue())) for entry in values.entrySet()]

    def optional(self, value: Any) -> Any:
        """Return the content of an Option or Optional, None if it is empty."""
        if isinstance(value, self.named("java.util.Optional")):
            return _plain(value.get()) if value.isPresent() else None
        return None if value.isEmpty() else _plain(value.get())

    def text(self, value: Any) -> str:
        """Return a String."""
        return str(value)


def _plain(value: Any) -> Any:
    """Return a boxed number as int, and other values as they are."""
    return int(value) if isinstance(value, jpype.JInt | jpype.JLong | jpype.java.lang.Integer | jpype.java.lang.Long) else value

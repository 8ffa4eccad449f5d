"""The managers of Kafka's controller in this process, of brokers, partitions and settings, and the records that they replay.

Source: Kafka 3.9 to 4.4 QuorumController.java, which makes and calls the managers in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_spec.conformance.kafka_classes.kraft_controller_classes import CONTROLLER, ControllerClasses

TIMEOUT = 9_000_000_000
"""A session's end in nanoseconds."""


class KafkasManagers:
    """The managers, with an empty memory; `elr` enables eligible leader replicas."""

    def __init__(self, classes: ControllerClasses, brokers: int, elr: bool) -> None:
        self.classes = classes
        self.kafka = classes.kafka
        self.brokers = brokers
        self.offset = 0
        self._registered_at = [0] * brokers
        self._build(elr)

    def _built(self, name: str, **settings: Any) -> Any:
        builder = self.kafka.made(f"{CONTROLLER}.{name}$Builder")
        for setting, value in settings.items():
            self.kafka.call(builder, f"set{setting}", value)
        return self.kafka.call(builder, "build")

    def _build(self, elr: bool) -> None:
        kafka, is_3 = self.kafka, self.classes.is_3
        registry = kafka.named("org.apache.kafka.timeline.SnapshotRegistry")
        log = kafka.first_of("org.apache.kafka.common.utils.LogContext", "org.apache.kafka.common.utils.internals.LogContext")()
        snapshots = registry(log)
        versions = kafka.named("org.apache.kafka.server.common.MetadataVersion")
        version = versions.IBP_4_0_IV1 if elr or not is_3 else versions.IBP_3_9_IV0
        quorum = kafka.named(f"{CONTROLLER}.QuorumFeatures")
        supported = quorum.defaultFeatureMap(True) if is_3 else quorum.defaultSupportedFeatureMap(True)
        features = quorum(0, supported, kafka.java_list([0]))
        older = {"MetadataVersion": version} if is_3 else {}
        self._features = self._built("FeatureControlManager", SnapshotRegistry=snapshots, QuorumFeatures=features, **older)
        known = {} if is_3 else {"FeatureControl": self._features}
        self._settings = self._built(
            "ConfigurationControlManager", SnapshotRegistry=snapshots, KafkaConfigSchema=self.classes.schema, **known
        )
        self._cluster = self._cluster_control(log, snapshots)
        self._partitions = self._built(
            "ReplicationControlManager",
            SnapshotRegistry=snapshots,
            LogContext=log,
            ConfigurationControl=self._settings,
            ClusterControl=self._cluster,
            FeatureControl=self._features,
            **({"EligibleLeaderReplicasEnabled": elr} if is_3 else {}),
        )
        if not is_3:
            levels = {"metadata.version": int(version.featureLevel()), "eligible.leader.replicas.version": int(elr)}
            for name, level in levels.items():
                self.replay([self.classes.message("FeatureLevelRecord").setName(name).setFeatureLevel(level)])
        self._cluster.activate()

    def _cluster_control(self, log: Any, snapshots: Any) -> Any:
        """Return Kafka's manager of registrations."""
        kafka, is_3 = self.kafka, self.classes.is_3
        handler, method = ("BrokerUncleanShutdownHandler" if is_3 else "BrokerShutdownHandler"), "addRecordsForShutdown"
        answer = kafka.implementing_hidden(f"{CONTROLLER}.ClusterControlManager${handler}", {method: self._shut_down})
        return self._built(
            "ClusterControlManager",
            LogContext=log,
            SnapshotRegistry=snapshots,
            Time=self.classes.time,
            SessionTimeoutNs=kafka.long(TIMEOUT),
            ReplicaPlacer=kafka.named("org.apache.kafka.metadata.placement.StripedReplicaPlacer")(
                kafka.named("java.util.Random")(1)
            ),
            FeatureControlManager=self._features,
            ClusterId="c",
            **{handler: answer},
        )

    def _shut_down(self, *arguments: Any) -> None:
        name = "handleBrokerUncleanShutdown" if self.classes.is_3 else "handleBrokerShutdown"
        self.kafka.call(self._partitions, name, *arguments)

    # Records

    def replay(self, messages: Sequence[Any]) -> None:
        """Replay records, as the active controller does with those that it has written."""
        for message in messages:
            self.offset += 1
            kind = str(message.getClass().getSimpleName())
            if kind == "RegisterBrokerRecord":
                self._registered_at[int(message.brokerId())] = self.offset
                self._cluster.replay(message, self.offset)
            elif kind.startswith("Broker") or kind == "UnregisterBrokerRecord":
                self._cluster.replay(message)
            elif kind == "ConfigRecord":
                self._settings.replay(message)
            elif kind == "FeatureLevelRecord":
                self._features.replay(message)
            else:
                self._partitions.replay(message)

    def _take(self, result: Any) -> Any:
        """Replay the records of a result, and return its response."""
        self.replay([record.message() for record in result.records()])
        return result.response()

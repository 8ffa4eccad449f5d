//! The model replication/kip_320 for Stateright: the same states and the same steps, written by hand after
//! spec/replication/rules.py, spec/replication/versions/kip_320.py and what that one takes over from earlier versions.
//! benchmarks/replication.py sets the four bounds below, builds it for the processor at hand, and runs it as follows:
//!
//!     RUSTFLAGS="-C target-cpu=native" cargo build --release
//!     target/release/kip_320 breadth 2        # or depth; with so many threads
//!
//! Bounds 3, 2, 2, 2 give 737,794 states; 3, 3, 3, 2 give 4,093,531.
//!
//! It is written to be fast: a state is 23 bytes at the larger bounds, is hashed as one piece, and memory comes from mimalloc.

use mimalloc::MiMalloc;
use stateright::{Checker, Model, Property};
use std::hash::{Hash, Hasher};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const REPLICAS: u8 = 3;
const LOG_SIZE: usize = 3;
const MAX_RECORDS: u8 = 3;
const MAX_LEADER_EPOCH: usize = 2;

/// The brokers are 1 to REPLICAS, and the leader epochs are from 1 on, so that 0 can stand for nobody and for none.
const NOBODY: u8 = 0;
const NO_EPOCH: u8 = 0;
const EPOCHS: usize = MAX_LEADER_EPOCH + 1;
const EVERYBODY: u8 = (1 << REPLICAS) - 1;

fn brokers() -> impl Iterator<Item = u8> {
    1..=REPLICAS
}

/// A set of brokers with only this one.
fn only(broker: u8) -> u8 {
    1 << (broker - 1)
}

/// A leader and an ISR in one byte, for up to five brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct LeaderAndIsr(u8);

impl LeaderAndIsr {
    fn of(leader: u8, isr: u8) -> Self {
        Self(leader << 5 | isr)
    }
    fn leader(self) -> u8 {
        self.0 >> 5
    }
    fn isr(self) -> u8 {
        self.0 & 31
    }
    fn counts(self, broker: u8) -> bool {
        self.isr() & only(broker) != 0
    }
    fn with_isr(self, isr: u8) -> Self {
        Self::of(self.leader(), isr)
    }
}

/// A log has one byte for an entry: its record and its epoch, or 0 from the end of the log on, so that equal logs are equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Replica {
    log: [u8; LOG_SIZE],
    /// The end of the log, and the high watermark.
    offsets: u8,
    leader_epoch: u8,
    believed: LeaderAndIsr,
}

impl Replica {
    fn end_offset(&self) -> u8 {
        self.offsets >> 4
    }
    fn high_watermark(&self) -> u8 {
        self.offsets & 15
    }
    fn set_offsets(&mut self, end_offset: u8, high_watermark: u8) {
        self.offsets = end_offset << 4 | high_watermark;
    }
    fn append(&mut self, entry: u8, high_watermark: u8) {
        let end_offset = self.end_offset();
        self.log[end_offset as usize] = entry;
        self.set_offsets(end_offset + 1, high_watermark);
    }
    fn truncate(&mut self, end_offset: u8) {
        self.log[end_offset as usize..].fill(0);
        self.set_offsets(end_offset, self.high_watermark().min(end_offset));
    }
    /// One past the highest offset at which both logs hold the same entry.
    fn divergence_offset(&self, other: &Self) -> u8 {
        (0..LOG_SIZE).rev().find(|&o| self.log[o] != 0 && self.log[o] == other.log[o]).map_or(0, |o| o as u8 + 1)
    }
    fn high_watermark_is_of_leader_epoch(&self) -> bool {
        let (end_offset, high_watermark) = (self.end_offset(), self.high_watermark());
        high_watermark == end_offset
            || high_watermark < end_offset && self.log[high_watermark as usize] & 15 == self.leader_epoch
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct State {
    replicas: [Replica; REPLICAS as usize],
    /// ZooKeeper's leader and ISR; their epoch is that of the last request.
    quorum: LeaderAndIsr,
    /// The request with leader epoch 1, with 2, and so on.
    requests: [LeaderAndIsr; EPOCHS],
    /// How many requests were issued, and how many records were written.
    counts: u8,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // SAFETY: a state consists of bytes, without gaps.
        hasher.write(unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast::<u8>(), size_of::<Self>()) });
    }
}

impl State {
    fn replica(&self, broker: u8) -> &Replica {
        &self.replicas[broker as usize - 1]
    }
    fn replica_mut(&mut self, broker: u8) -> &mut Replica {
        &mut self.replicas[broker as usize - 1]
    }
    fn issued(&self) -> u8 {
        self.counts >> 4
    }
    fn written(&self) -> u8 {
        self.counts & 15
    }
    fn leads(&self, broker: u8) -> bool {
        self.replica(broker).believed.leader() == broker
    }
    /// The follower believes in this leader, in the leader's epoch; also of a leader and itself.
    fn is_in_epoch_of(&self, leader: u8, follower: u8) -> bool {
        let following = self.replica(follower);
        following.believed.leader() == leader && following.leader_epoch == self.replica(leader).leader_epoch
    }
    fn is_true_leader(&self, leader: u8) -> bool {
        self.quorum.leader() == leader && self.replica(leader).leader_epoch == self.issued()
    }
    fn isr_has_next_entry(&self, leader: u8) -> bool {
        let next = self.replica(leader).high_watermark();
        brokers().filter(|&member| self.replica(leader).believed.counts(member)).all(|member| {
            self.is_in_epoch_of(leader, member) && next < self.replica(member).end_offset()
        })
    }
    fn update_quorum(&mut self, leader: u8, isr: u8) {
        self.quorum = LeaderAndIsr::of(leader, isr);
        self.requests[self.issued() as usize] = self.quorum;
        self.counts += 16;
    }
    fn take_request(&mut self, epoch: u8, broker: u8) {
        let request = self.requests[epoch as usize - 1];
        let replica = self.replica_mut(broker);
        replica.leader_epoch = epoch;
        replica.believed = request;
    }
    fn write_isr(&mut self, leader: u8, isr: u8) {
        let replica = self.replica_mut(leader);
        replica.believed = replica.believed.with_isr(isr);
        self.quorum = self.quorum.with_isr(isr);
    }
    fn strong_isr(&self) -> bool {
        brokers().filter(|&leader| self.leads(leader)).all(|leader| {
            let leading = self.replica(leader);
            brokers().filter(|&member| self.quorum.counts(member)).all(|member| {
                let log = &self.replica(member).log;
                (0..leading.high_watermark() as usize).all(|o| leading.log[o] != 0 && leading.log[o] == log[o])
            })
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    ControllerElectLeader(u8),
    ControllerShrinkIsr(u8),
    BecomeLeader(u8),
    BecomeFollower { epoch: u8, follower: u8 },
    LeaderWrite(u8),
    LeaderIncHighWatermark(u8),
    FollowerFetch { leader: u8, follower: u8 },
    LeaderShrinkIsr { leader: u8, follower: u8 },
    LeaderExpandIsr { leader: u8, follower: u8 },
}

struct Kip320;

impl Model for Kip320 {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let nothing = LeaderAndIsr::of(NOBODY, 0);
        let replica = Replica { log: [0; LOG_SIZE], offsets: 0, leader_epoch: NO_EPOCH, believed: nothing };
        vec![State {
            replicas: [replica; REPLICAS as usize],
            quorum: LeaderAndIsr::of(NOBODY, EVERYBODY),
            requests: [nothing; EPOCHS],
            counts: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if (state.issued() as usize) < EPOCHS {
            for broker in brokers() {
                let (leads, counted) = (state.quorum.leader() == broker, state.quorum.counts(broker));
                if counted && !leads {
                    actions.push(Action::ControllerElectLeader(broker));
                }
                if counted || leads {
                    actions.push(Action::ControllerShrinkIsr(broker));
                }
            }
        }
        for epoch in 1..=state.issued() {
            let leader = state.requests[epoch as usize - 1].leader();
            if leader == NOBODY {
                continue;
            }
            let leading = state.replica(leader);
            if epoch > leading.leader_epoch {
                actions.push(Action::BecomeLeader(epoch));
            } else if epoch == leading.leader_epoch && state.leads(leader) {
                for follower in brokers().filter(|&it| it != leader && epoch > state.replica(it).leader_epoch) {
                    actions.push(Action::BecomeFollower { epoch, follower });
                }
            }
        }
        for leader in brokers().filter(|&it| state.leads(it)) {
            let leading = state.replica(leader);
            let (end_offset, high_watermark) = (leading.end_offset(), leading.high_watermark());
            if state.written() < MAX_RECORDS && (end_offset as usize) < LOG_SIZE {
                actions.push(Action::LeaderWrite(leader));
            }
            if high_watermark < end_offset && state.isr_has_next_entry(leader) {
                actions.push(Action::LeaderIncHighWatermark(leader));
            }
            let may_write_isr = state.is_true_leader(leader);
            for follower in brokers() {
                let in_epoch = state.is_in_epoch_of(leader, follower);
                let reached = state.replica(follower).end_offset();
                if in_epoch && reached < end_offset {
                    actions.push(Action::FollowerFetch { leader, follower });
                }
                if !may_write_isr {
                    continue;
                }
                if leading.believed.counts(follower) {
                    if follower != leader && !(in_epoch && reached >= end_offset) {
                        actions.push(Action::LeaderShrinkIsr { leader, follower });
                    }
                } else if in_epoch && reached >= high_watermark && leading.high_watermark_is_of_leader_epoch() {
                    actions.push(Action::LeaderExpandIsr { leader, follower });
                }
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = *before;
        match action {
            Action::ControllerElectLeader(broker) => state.update_quorum(broker, before.quorum.isr()),
            Action::ControllerShrinkIsr(broker) => {
                let (leader, isr) = (before.quorum.leader(), before.quorum.isr());
                let rest = isr & !only(broker);
                if leader != broker {
                    state.update_quorum(leader, rest);
                } else {
                    // a last member stays in the ISR, without a leader
                    state.update_quorum(NOBODY, if rest == 0 { isr } else { rest });
                }
            }
            Action::BecomeLeader(epoch) => state.take_request(epoch, before.requests[epoch as usize - 1].leader()),
            Action::BecomeFollower { epoch, follower } => {
                let leading = before.replica(before.requests[epoch as usize - 1].leader());
                state.replica_mut(follower).truncate(leading.divergence_offset(before.replica(follower)));
                state.take_request(epoch, follower);
            }
            Action::LeaderWrite(leader) => {
                let leading = state.replica_mut(leader);
                leading.append((before.written() + 1) << 4 | leading.leader_epoch, leading.high_watermark());
                state.counts += 1;
            }
            Action::LeaderIncHighWatermark(leader) => state.replica_mut(leader).offsets += 1,
            Action::FollowerFetch { leader, follower } => {
                let (leading, next) = (before.replica(leader), before.replica(follower).end_offset());
                let entry = leading.log[next as usize];
                state.replica_mut(follower).append(entry, leading.high_watermark().min(next + 1));
            }
            Action::LeaderShrinkIsr { leader, follower } => {
                state.write_isr(leader, before.replica(leader).believed.isr() & !only(follower));
            }
            Action::LeaderExpandIsr { leader, follower } => {
                state.write_isr(leader, before.replica(leader).believed.isr() | only(follower));
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("StrongIsr", |_, state: &State| state.strong_isr())]
    }
}

fn tell(checker: &impl Checker<Kip320>, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    let (states, steps) = (checker.unique_state_count(), checker.state_count());
    println!("{states} states, {steps} steps, of {} bytes, {seconds:.3} s", size_of::<State>());
    println!("{}", if checker.discoveries().is_empty() { "StrongIsr holds" } else { "StrongIsr is violated" });
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let threads = arguments.get(2).map_or(1, |it| it.parse().expect("a number of threads"));
    let began = Instant::now();
    let builder = Kip320.checker().threads(threads);
    match arguments.get(1).map(String::as_str) {
        Some("breadth") => tell(&builder.spawn_bfs().join(), began),
        Some("depth") => tell(&builder.spawn_dfs().join(), began),
        _ => panic!("breadth or depth?"),
    }
}

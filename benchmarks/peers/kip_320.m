-- The model replication/kip_320 for Rumur, a checker of Murphi models: the same states and the same steps, written by hand after
-- spec/replication/rules.py, spec/replication/versions/kip_320.py and what that one takes over from earlier versions.
-- benchmarks/replication.py sets the four bounds below and runs it as follows; by hand, edit them:
--
--   rumur --deadlock-detection off --threads 1 --output k.c kip_320.m
--   gcc -O3 -march=native -std=c11 k.c -o k -lpthread -mcx16 && ./k
--
-- Bounds 3, 2, 2, 2 give 737,794 states; 3, 3, 3, 2 give 4,093,531.

const
  REPLICAS: 3;
  LOG_SIZE: 3;
  MAX_RECORDS: 3;
  MAX_LEADER_EPOCH: 2;

  NONE: -1;  -- no leader, no record, or no epoch yet

type
  Broker: 0 .. REPLICAS - 1;
  BrokerOrNone: NONE .. REPLICAS - 1;
  Offset: 0 .. LOG_SIZE - 1;
  EndOffset: 0 .. LOG_SIZE;
  EpochOrNone: NONE .. MAX_LEADER_EPOCH;
  Request: 0 .. MAX_LEADER_EPOCH;
  Isr: array[Broker] of boolean;

  -- unused entries stay at NONE, so that equal logs are equal states
  LogEntry: record
    record_number: NONE .. MAX_RECORDS - 1;
    epoch: EpochOrNone;
  end;

  Replica: record
    log: array[Offset] of LogEntry;
    end_offset: EndOffset;
    high_watermark: EndOffset;
    leader_epoch: EpochOrNone;
    leader: BrokerOrNone;
    isr: Isr;
  end;

  -- the number of a request is its leader epoch
  LeaderAndIsr: record
    leader: BrokerOrNone;
    isr: Isr;
  end;

  Quorum: record
    leader_epoch: EpochOrNone;
    leader: BrokerOrNone;
    isr: Isr;
  end;

var
  replicas: array[Broker] of Replica;
  quorum: Quorum;
  requests: array[Request] of LeaderAndIsr;
  requests_issued: 0 .. MAX_LEADER_EPOCH + 1;
  next_record: 0 .. MAX_RECORDS;


-- What a replica believes ------------------------------------------------------------------------------------------------------

function is_true_leader(leader: Broker): boolean;
begin
  return quorum.leader = leader & replicas[leader].leader = leader & replicas[leader].leader_epoch = quorum.leader_epoch;
end;

-- also of a leader and itself
function is_in_same_epoch(leader: Broker; follower: Broker): boolean;
begin
  return replicas[leader].leader = leader
    & replicas[follower].leader = leader
    & replicas[follower].leader_epoch = replicas[leader].leader_epoch;
end;


-- Logs -------------------------------------------------------------------------------------------------------------------------

function same_entry(one: Broker; other: Broker; offset: Offset): boolean;
begin
  return offset < replicas[one].end_offset
    & offset < replicas[other].end_offset
    & replicas[one].log[offset].record_number = replicas[other].log[offset].record_number
    & replicas[one].log[offset].epoch = replicas[other].log[offset].epoch;
end;

-- one past the highest offset at which both logs hold the same entry
function divergence_offset(leader: Broker; follower: Broker): EndOffset;
var divergence: EndOffset;
begin
  divergence := 0;
  for offset: Offset do
    if same_entry(leader, follower, offset) then divergence := offset + 1; endif;
  endfor;
  return divergence;
end;

procedure truncate_log(replica: Broker; end_offset: EndOffset);
begin
  for offset: Offset do
    if offset >= end_offset then
      replicas[replica].log[offset].record_number := NONE;
      replicas[replica].log[offset].epoch := NONE;
    endif;
  endfor;
  replicas[replica].end_offset := end_offset;
  if end_offset < replicas[replica].high_watermark then replicas[replica].high_watermark := end_offset; endif;
end;


-- ISR and high watermark -------------------------------------------------------------------------------------------------------

-- the quorum's ISR is this replica alone
function is_last_in_quorum_isr(replica: Broker): boolean;
begin
  for other: Broker do
    if quorum.isr[other] & other != replica then return false; endif;
  endfor;
  return quorum.isr[replica];
end;

procedure update_quorum(leader: BrokerOrNone; isr: Isr);
begin
  quorum.leader := leader;
  quorum.leader_epoch := requests_issued;
  quorum.isr := isr;
  requests[requests_issued].leader := leader;
  requests[requests_issued].isr := isr;
  requests_issued := requests_issued + 1;
end;

-- every member of the leader's ISR is in its epoch and holds the entry at its high watermark
function isr_has_next_entry(leader: Broker): boolean;
begin
  for member: Broker do
    if replicas[leader].isr[member] then
      if !is_in_same_epoch(leader, member) | !(replicas[leader].high_watermark < replicas[member].end_offset) then
        return false;
      endif;
    endif;
  endfor;
  return true;
end;

function high_watermark_is_of_leader_epoch(leader: Broker): boolean;
begin
  if replicas[leader].high_watermark = replicas[leader].end_offset then return true; endif;
  return replicas[leader].high_watermark < replicas[leader].end_offset
    & replicas[leader].log[replicas[leader].high_watermark].epoch = replicas[leader].leader_epoch;
end;


-- The start --------------------------------------------------------------------------------------------------------------------

startstate "nothing written, nobody elected, every broker in the ISR"
begin
  for replica: Broker do
    for offset: Offset do
      replicas[replica].log[offset].record_number := NONE;
      replicas[replica].log[offset].epoch := NONE;
    endfor;
    replicas[replica].end_offset := 0;
    replicas[replica].high_watermark := 0;
    replicas[replica].leader_epoch := NONE;
    replicas[replica].leader := NONE;
    for member: Broker do replicas[replica].isr[member] := false; endfor;
    quorum.isr[replica] := true;
  endfor;
  for request: Request do
    requests[request].leader := NONE;
    for member: Broker do requests[request].isr[member] := false; endfor;
  endfor;
  quorum.leader_epoch := NONE;
  quorum.leader := NONE;
  requests_issued := 0;
  next_record := 0;
end;


-- The controller ---------------------------------------------------------------------------------------------------------------

ruleset replica: Broker do
  rule "ControllerElectLeader"
    requests_issued <= MAX_LEADER_EPOCH & quorum.isr[replica] & quorum.leader != replica
  ==>
  var isr: Isr;
  begin
    isr := quorum.isr;
    update_quorum(replica, isr);
  end;

  -- a last member stays in the ISR, without a leader
  rule "ControllerShrinkIsr"
    requests_issued <= MAX_LEADER_EPOCH & (quorum.leader = replica | quorum.isr[replica])
  ==>
  var isr: Isr;
  begin
    isr := quorum.isr;
    if quorum.leader = replica then
      if !is_last_in_quorum_isr(replica) then isr[replica] := false; endif;
      update_quorum(NONE, isr);
    else
      isr[replica] := false;
      update_quorum(quorum.leader, isr);
    endif;
  end;
endruleset;


-- A replica reads a LeaderAndIsr request ---------------------------------------------------------------------------------------

ruleset request: Request do
  rule "BecomeLeader"
    request < requests_issued & requests[request].leader >= 0 & request > replicas[requests[request].leader].leader_epoch
  ==>
  var leader: BrokerOrNone;
  begin
    leader := requests[request].leader;
    replicas[leader].leader_epoch := request;
    replicas[leader].leader := leader;
    replicas[leader].isr := requests[request].isr;
  end;
endruleset;

-- only while the leader leads in the epoch of the request
ruleset replica: Broker do ruleset request: Request do
  rule "BecomeFollower"
    request < requests_issued
    & request > replicas[replica].leader_epoch
    & requests[request].leader != replica
    & requests[request].leader >= 0
    & replicas[requests[request].leader].leader = requests[request].leader
    & replicas[requests[request].leader].leader_epoch = request
  ==>
  var leader: BrokerOrNone;
  begin
    leader := requests[request].leader;
    truncate_log(replica, divergence_offset(leader, replica));
    replicas[replica].leader_epoch := request;
    replicas[replica].leader := leader;
    replicas[replica].isr := requests[request].isr;
  end;
endruleset; endruleset;


-- Writing and fetching ---------------------------------------------------------------------------------------------------------

ruleset leader: Broker do
  rule "LeaderWrite"
    replicas[leader].leader = leader & next_record < MAX_RECORDS & replicas[leader].end_offset < LOG_SIZE
  ==>
  begin
    replicas[leader].log[replicas[leader].end_offset].record_number := next_record;
    replicas[leader].log[replicas[leader].end_offset].epoch := replicas[leader].leader_epoch;
    replicas[leader].end_offset := replicas[leader].end_offset + 1;
    next_record := next_record + 1;
  end;

  rule "LeaderIncHighWatermark"
    replicas[leader].high_watermark < replicas[leader].end_offset & isr_has_next_entry(leader)
  ==>
  begin
    replicas[leader].high_watermark := replicas[leader].high_watermark + 1;
  end;
endruleset;

ruleset leader: Broker do ruleset follower: Broker do
  rule "FollowerFetch"
    is_in_same_epoch(leader, follower) & replicas[follower].end_offset < replicas[leader].end_offset
  ==>
  var offset: Offset;
  begin
    offset := replicas[follower].end_offset;
    replicas[follower].log[offset] := replicas[leader].log[offset];
    replicas[follower].end_offset := offset + 1;
    replicas[follower].high_watermark :=
      replicas[leader].high_watermark < offset + 1 ? replicas[leader].high_watermark : offset + 1;
  end;
endruleset; endruleset;


-- The leader changes the ISR, by conditional write -----------------------------------------------------------------------------

ruleset leader: Broker do ruleset follower: Broker do
  rule "LeaderShrinkIsr"
    follower != leader
    & replicas[leader].isr[follower]
    & !(is_in_same_epoch(leader, follower) & replicas[follower].end_offset >= replicas[leader].end_offset)
    & is_true_leader(leader)
  ==>
  begin
    replicas[leader].isr[follower] := false;
    quorum.isr := replicas[leader].isr;
  end;

  rule "LeaderExpandIsr"
    !replicas[leader].isr[follower]
    & is_in_same_epoch(leader, follower)
    & replicas[follower].end_offset >= replicas[leader].high_watermark
    & high_watermark_is_of_leader_epoch(leader)
    & is_true_leader(leader)
  ==>
  begin
    replicas[leader].isr[follower] := true;
    quorum.isr := replicas[leader].isr;
  end;
endruleset; endruleset;


-- The property -----------------------------------------------------------------------------------------------------------------

invariant "StrongIsr"
  forall leader: Broker do
    replicas[leader].leader = leader ->
      forall member: Broker do
        quorum.isr[member] ->
          forall offset: Offset do
            offset < replicas[leader].high_watermark -> same_entry(leader, member, offset)
          endforall
      endforall
  endforall;

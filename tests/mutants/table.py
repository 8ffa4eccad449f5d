"""The mutants: each breaks the checker in one way, by texts that stand in a file once and what stands there instead."""
# ruff: noqa: E501  (the code's texts, as they stand)

from __future__ import annotations

from dataclasses import dataclass

HASHING = "model_check/lowering/hashing.py"
CHECK, COUNTED, EMBEDDED = "model_check/check.py", "model_check/record/counted.py", "model_check/search/embedded.py"
LEVEL_JUDGE = "model_check/search/level_judge.py"
AGREEMENT = "model_check/agreement.py"
EXPLORATION, FINGERPRINT, KERNEL = "model_check/exploration.py", "model_check/record/fingerprint.py", "model_check/code/kernel.py"
INTERPRETER = "model_check/interpreter/interpreter.py"
LAYOUT, ORACLE, RECOVERY = "model_check/record/layout.py", "model_check/oracle/oracle.py", "model_check/search/recovery.py"
COUNTEREXAMPLE, LOWERING = "model_check/traces/counterexample.py", "model_check/lowering/"
RULES, SUCCESSORS, JUDGES = LOWERING + "rules.py", LOWERING + "successors.py", LOWERING + "judges.py"
OPENINGS, LIGHT = LOWERING + "shared_guards.py", LOWERING + "light_rows.py"
CODE_CACHE, INPUTS, ENTRANCE = (
    "model_check/llvm/disk_cache.py",
    "model_check/code/cache_key.py",
    "model_check/interpreter/revalidate.py",
)
VIEW, NORMAL, ELEMENTS = "tests/test_constraint_and_view.py::", "tests/test_normal_form.py::", "tests/test_elements.py::"
LEADS, EACH = "tests/test_leads_to.py::", "tests/test_each.py::"
KNOWN, KNOWN_CODE = "model_check/code/memo.py", "tests/test_known_code.py::"
TOYS, WIDE, COMPARED = "tests/test_toys.py::", "tests/test_wide_levels.py::", "tests/test_check.py::"
ROWS = "tests/test_light_rows.py::"
STORED, TALLY = "model_check/search/stored_states.py", "model_check/search/tally.py"
SHARDS, SEEN, KEPT = "model_check/search/shards.py", "tests/test_seen_set.py::", "tests/test_state_dir.py::"
PACKING, RESUME, CHECKPOINTS = LOWERING + "packing.py", "model_check/search/resume.py", "model_check/store/checkpoints.py"
FALSE, WHEN, AT_MOST = "tests/test_no_false_verdict.py::", "tests/test_antecedents.py::", "tests/test_at_most.py::"
BACK, NATIVE, FUZZ = "tests/test_recovery.py::", "tests/test_lowering.py::", "tests/test_fuzz.py::"
MAPS = "tests/test_maps.py::"
PATHS, GRAPHS = "model_check/search/path_properties.py", "model_check/code/graph_kernel.py"


@dataclass(frozen=True)
class Mutant:
    """One way to break the checker."""

    name: str
    breaks: str
    """What is wrong with the checker then."""
    edits: tuple[tuple[str, str, str], ...]
    """File, text, and the text in its place."""
    tests: tuple[str, ...]
    """The tests that are expected to notice, the quickest first."""
    survives: str = ""
    """Why nothing can notice, where that is so."""


def mutant(
    name: str, breaks: str, file: str, text: str, instead: str, *tests: str, more: tuple[tuple[str, str, str], ...] = ()
) -> Mutant:
    """Return a mutant of one edit, or more."""
    return Mutant(name, breaks, ((file, text, instead), *more), tests)


COMPARISONS = (
    mutant(
        "verify-same-seed", "--verify searches again with the same seed", CHECK,
        "by_embedded(VERIFY_SEED, fresh=True)", "by_embedded(None, fresh=True)", COMPARED + "test_verify_takes_another_seed",
    ),
    *(
        mutant(
            f"compare-without-{kind}", f"engines are compared without {kind}", AGREEMENT,
            '"engine", "threads", "stopped",', f'"engine", "threads", "stopped", "{kind}",', COMPARED + "test_the_other_engine_finds_the_same",
        )
        for kind in ("levels", "fired", "cut_by", "tested", "new", "digest", "findings")
    ),
    mutant(
        "compare-without-violated", "two results that are violated agree, whatever is violated", AGREEMENT,
        "(*FOUND, *DERIVED)", "FOUND", COMPARED + "test_another_seed_finds_the_same_verdicts",
    ),
    mutant(
        "both-is-one", "--engine both runs one engine", CHECK,
        'if engine == "both" and not result.stopped:', 'if engine == "both" and result.stopped:', BACK + "test_verify_and_both",
    ),
    mutant(
        "comparison-cut-short", "a comparison that was not finished is none the worse", CHECK,
        "        result.complete, result.stopped = False, f", "        _ = f", COMPARED + "test_a_comparison_that_is_cut_short",
    ),
    mutant(
        "expected-trace", "the length of an expected counterexample is not compared", CHECK,
        "if set(met.values()) == {states}:", "if met:", "tests/test_recovery.py::test_expectations", "tests/test_command.py::test_expectations",
    ),
    mutant(
        "expected-count", "the expected number of states is not compared", CHECK,
        "if expected is not None and expected != found:", "if expected == -1:", "tests/test_command.py::test_expectations",
    ),
    mutant(
        "rules-that-never-fire", "all_rules_fire asks for nothing", CHECK,
        "if self.all_rules_fire and result.dead_rules:", "if False:", COMPARED + "test_a_rule_that_never_fires_fails_a_check",
    ),
    mutant(
        "properties-never-tested", "all_properties_tested asks for nothing", CHECK,
        "if self.all_properties_tested and self.untested(result):", "if False:", WHEN + "test_manifest",
    ),
    mutant(
        "unlisted-rules", "a rule that stands in no spec is left out in silence", CHECK,
        "    refuse_unlisted(spec)\n    values", "    values", "tests/test_listing.py::test_an_unlisted_rule_is_named",
    ),
    mutant(
        "sums-not-checked", "counts that do not add up give a verdict", EXPLORATION,
        "    if wrong:\n", "    if False:\n", FALSE + "test_a_count_of_new_states_that_is_wrong_is_an_internal_error",
        FALSE + "test_states_that_the_levels_do_not_have_are_an_internal_error",
    ),
)  # fmt: skip

CACHES = (
    mutant(
        "key-without-ranges", "the key of compiled code ignores what parameters run over", INPUTS,
        "self.actions.ranges, ", "", FALSE + "test_what_a_parameter_runs_over_is_not_forgotten",
    ),
    mutant(
        "key-without-final-states", "the compiler and the key see no final states", "model_check/record/seen_spec.py",
        "parts = spec.final_states,", "parts = None,", "tests/test_final_states.py::test_final_states_are_judged_one_by_one",
    ),
    mutant(
        "key-without-plus", "the key ignores what is added to a bound", INPUTS,
        'Scalar: frozenset({"show"})', 'Scalar: frozenset({"show", "plus"})', FALSE + "test_what_is_added_to_a_bound_is_not_forgotten",
    ),
    mutant(
        "members-at-run-time", "the number of members that a search renames is left out of the key", INPUTS,
        "return frozenset(constants) - {name", "return frozenset(constants) or {name", KNOWN_CODE + "test_code_for_other_numbers_of_members_is_other_code",
    ),
    mutant(
        "the-unseen-is-told", "what the key leaves out can be read", INPUTS,
        "            raise EngineError(\n                f\"the compiler asks", "            return 1\n            raise EngineError(\n                f\"the compiler asks",
        KNOWN_CODE + "test_what_the_key_leaves_out_cannot_be_read",
    ),
    mutant(
        "known-code-unverified", "code that is used again is not compared with what is written fresh", KNOWN,
        "if mine != its:", "if False:", KNOWN_CODE + "test_code_that_is_used_again_can_be_verified",
    ),
    mutant(
        "key-without-names", "the key ignores what the global names of functions stand for", INPUTS,
        "[{names}]", "", FALSE + "test_a_global_that_changes_is_read_anew", FALSE + "test_a_helper_that_changes_is_read_anew",
    ),
    mutant(
        "key-without-claims", "the key ignores the properties", INPUTS,
        ", self.spec, self.claims)", ", self.spec)", FALSE + "test_other_claims_are_judged_by_other_code",
    ),
    mutant(
        "code-of-another", "a file of the cache is executed, whatever its code comes from", CODE_CACHE,
        "if head.startswith(FORMAT) and head != origin.head:", "if False:", FALSE + "test_code_of_something_else_is_noticed",
        more=((CODE_CACHE, "elif head != origin.head or checksum != origin.checksum(machine_code):", "elif checksum != hashlib.sha256(head + machine_code).digest():"),),
    ),
    mutant(
        "damaged-code", "a file of the cache is executed, whatever its checksum summary", CODE_CACHE,
        "or checksum != origin.checksum(machine_code):", "or False:", "tests/test_command.py::test_corrupt_cache",
    ),
    mutant(
        "code-of-others", "code that others could have put into the cache is executed", CODE_CACHE,
        "(stat.S_IWGRP | stat.S_IWOTH) and not sticky:", "0:", FALSE + "test_what_others_can_write_to_is_not_executed",
    ),
    mutant(
        "code-of-another-compiler", "what another compiler wrote is used again", KNOWN,
        "CodeOrigin(digest_of(inputs), SOURCES", 'CodeOrigin(digest_of(inputs), b""', KNOWN_CODE + "test_other_sources_compile_anew",
    ),
    mutant(
        "sources-without-the-vocabulary", "a change of the vocabulary leaves known code as it is", KNOWN,
        ', "spec/vocabulary"', "", KNOWN_CODE + "test_a_change_of_any_source_changes_the_key",
    ),
    mutant(
        "code-of-other-bounds", "code in which bounds are constants may be that of others", "model_check/llvm/machine_code.py",
        'values = list(k) if tier == Tier.FIXED else ""', 'values = ""',
        KNOWN_CODE + "test_code_for_some_bounds_is_used_for_no_others",
    ),
    mutant(
        "other-code-unnoticed", "what is written again for equal inputs may be other code", "model_check/llvm/machine_code.py",
        "if digest_of(text) != self.digest:", "if False:", KNOWN_CODE + "test_other_code_for_equal_inputs_is_an_error",
    ),
    mutant(
        "verify-with-kept-code", "--verify executes the code that the first search did", CHECK,
        "VERIFY_SEED, fresh=True", "VERIFY_SEED", COMPARED + "test_verify_compiles_anew",
    ),
    mutant(
        "not-read-anew", "a spec is checked when it is stated, and not again when its helpers have changed", ENTRANCE,
        "        part.__post_init__()", "        pass", FALSE + "test_a_global_that_grows_too_large_is_refused", FALSE + "test_a_helper_that_begins_to_write_is_refused",
    ),
    mutant(
        "flipped-byte", "--resume looks at the length of a file and not at its bytes", "model_check/spark/state_dir.py",
        'if digest_of(storage, name) != (reported["bytes"], reported["digest"]):', "if False:", "tests/test_spark.py::test_one_flipped_byte_of_a_finished_level",
    ),
)  # fmt: skip

VERDICTS = (
    mutant(
        "holds-incomplete", "an invariant of a search that was not finished holds", EXPLORATION,
        'return "violated" if name in self.findings else "holds" if self.complete else "inconclusive"',
        'return "violated" if name in self.findings else "holds"', TOYS + "test_invariant_breaks_after_three_steps",
    ),
    mutant(
        "goal-incomplete", "a goal that a search had no time for is violated", EXPLORATION,
        'else "violated" if self.complete else "inconclusive"', 'else "violated"', TOYS + "test_goal_is_inconclusive_before_the_end",
    ),
    mutant(
        "all-holds-incomplete", "a search that was stopped holds", EXPLORATION,
        'return "holds" if self.complete else "inconclusive"\n\n    @property\n    def dead_rules', 'return "holds"\n\n    @property\n    def dead_rules',
        BACK + "test_an_interrupt_while_ways_are_looked_for",
    ),
    mutant(
        "undecided-by-all", "steps of operators are reported as what leaves ways back undecided", EXPLORATION,
        'if rule.kind == "protocol" and bounded[rule.name]]', "if bounded[rule.name]]", BACK + "test_a_trap_is_found_at_its_first_state",
    ),
    mutant(
        "complete-anyway", "a search whose ways back were not judged is complete", EXPLORATION,
        "self.complete = everywhere and not self.stopped", "self.complete = everywhere",
        BACK + "test_an_interrupt_while_ways_are_looked_for",
    ),
    mutant(
        "capacity-is-a-limit", "a search that found no room is complete", EXPLORATION,
        "if everywhere and not self.stopped and self.full:", "if False:",
        "tests/test_capacities.py::test_too_small_a_capacity_is_no_result",
    ),
    mutant(
        "budget-of-states", "the budget of states is not looked at", "model_check/budget.py",
        "distinct >= self.max_states:", "distinct < 0:", COMPARED + "test_a_budget_of_states",
    ),
)  # fmt: skip

LEVELS = (
    mutant(
        "last-state-not-judged", "the last state of a wide level is not judged", LEVEL_JUDGE,
        "address(states), count, address(row)", "address(states), count - (count > 1024), address(row)",
        WIDE + "test_the_one_state_of_a_wide_level",
    ),
    mutant(
        "parents-of-16-bits", "the numbers of parents are cut to 16 bits", SUCCESSORS,
        "in zip((mark, self.b.trunc(self.number, I32)", "in zip((mark, self.b.and_(self.b.trunc(self.number, I32), I32(0xFFFF))",
        WIDE + "test_the_one_state_of_a_wide_level",
    ),
    mutant(
        "one-state-in-a-million", "one state in a million is dropped", KERNEL,
        "        if table[at] != fingerprint:", "        if table[at] != fingerprint and fingerprint % 1000003 != 0:",
        WIDE + "test_none_of_five_million_states_is_lost",
    ),
    mutant(
        "view-by-one-order", "with a view another seed explores the same states", EMBEDDED,
        "        if self.by_fingerprint:", "        if False:",
        "tests/test_constraint_and_view.py::test_a_view_that_hides_too_much_is_seen_by_another_seed",
    ),
    mutant(
        "familiar-by-place", "a successor is left out that shares only the last bits with an earlier one", LOWERING + "successors.py",
        'self.b.icmp_signed("!=", before, mark)', 'self.b.icmp_signed("==", before, ZERO)',
        WIDE + "test_none_of_five_million_states_is_lost",
    ),
    mutant(
        "place-in-a-slice", "the state that decides a claim is reported by its place among those judged with it", LEVEL_JUDGE,
        "(row[: self.claims] >= 0)] += begin", "(row[: self.claims] >= 0)] += 0", WIDE + "test_of_states_from_many_slices_the_first_is_told",
    ),
    mutant(
        "loss-in-growth", "when the set grows, one fingerprint is lost", KERNEL,
        "for i in range(slots + SLACK):", "for i in range(slots + SLACK - 1):", SEEN + "test_a_shard_takes_each_of_its_fingerprints_once",
        WIDE + "test_none_of_five_million_states_is_lost",
    ),
    mutant(
        "growth-overwrites", "when the set grows, a fingerprint takes the place of another", KERNEL,
        "        if own > at:\n            at = own\n", "        at = own\n", SEEN + "test_a_shard_takes_each_of_its_fingerprints_once",
    ),
    mutant(
        "slot-is-state", "a state whose place in the set is taken counts as known", KERNEL,
        "        if table[at] != fingerprint:", "        if table[at] == 0:", TOYS + "test_wide_levels_are_shared_by_threads",
    ),
    mutant(
        "table-without-end", "fingerprints that have no room at the end of the set overwrite what stands behind it", KERNEL,
        "            if table[slots + SLACK - 1] != 0:\n                return -1\n            mine", "            mine",
        SEEN + "test_fingerprints_that_are_not_random_end_the_search",
    ),
    mutant(
        "row-without-its-items", "the hash of a light row leaves out the last items", LIGHT,
        "self.hash_on(row, layout.row_head, size, lanes)", "self.hash_on(row, layout.row_head, I64(layout.row_head), lanes)",
        ROWS + "test_a_light_row_is_what_a_record_holds", ROWS + "test_light_rows_change_nothing",
    ),
    mutant(
        "row-of-one-item-less", "a record is restored without the last item of a sequence", LIGHT,
        "            self.loop(ZERO, self.count(sequence), one)\n        self.b.ret(", "            self.loop(ONE, self.count(sequence), one)\n        self.b.ret(",
        ROWS + "test_a_light_row_is_what_a_record_holds",
        more=((LIGHT, "import I64, POINTER", "import I64, ONE, POINTER"),),
    ),
    mutant(
        "unpacked-unseen", "a packed state that has changed is searched", PACKING,
        "self.b.icmp_signed(\"!=\", found, self.b.load(mark))", "self.b.icmp_signed(\"!=\", found, found)",
        KEPT + "test_a_changed_row_is_noticed",
    ),
    mutant(
        "a-bit-too-few", "the largest value of a field is packed without its first bit", PACKING,
        "return (place.type.high - place.type.low).bit_length()", "return max(1, place.type.high - place.type.low).bit_length() - 1",
        KEPT + "test_packing_changes_nothing",
    ),
    mutant(
        "resumed-without-a-level", "a search that goes on has forgotten the first level", RESUME,
        "    for content in finished:\n", "    for content in finished[1:]:\n", KEPT + "test_a_search_on_disk_is_the_same",
    ),
    mutant(
        "any-file-will-do", "a search goes on from a file that is not as it was written", CHECKPOINTS,
        'if (size, digest.hexdigest()) != (reported["bytes"], reported["digest"]):', 'if size != reported["bytes"]:', KEPT + "test_damage_is_told",
    ),
    mutant(
        "hashes-of-32-bits", "states are reported apart by 32 bits", HASHING,
        'return self.b.select(self.b.icmp_signed("==", result, ZERO), ONE, result)',
        "return self.b.mul(self.b.and_(result, I64(0xFFFFFFFF)), I64(0x100000001))",
        WIDE + "test_none_of_five_million_states_is_lost", "tests/test_fingerprint.py::test_avalanche",
        more=((FINGERPRINT, "return wyhash(record, seed) or 1", "return (wyhash(record, seed) & 0xFFFFFFFF) * 0x100000001"),),
    ),
    mutant(
        "end-of-record", "the last bytes of a record are not hashed", HASHING,
        "self.read(record, at + left - 16), self.read(record, at + left - 8)", "self.read(record, at + left - 16), self.read(record, at + left - 16)",
        "tests/test_fingerprint.py::test_compiled_hash_is_the_pythons",
    ),
    mutant(
        "shard-by-shard", "new states stand in the order of the shards that took them", STORED,
        'np.sort(np.concatenate(places), kind="stable")', "np.concatenate(places)",
        "tests/test_replication.py::test_threads_change_nothing",
    ),
    mutant(
        "last-batch-forgotten", "what the last states of a level lead to is seen and not searched", EMBEDDED,
        "            taking = self.deduplicate_in_order(slices, ends, together)\n        together(taking)\n",
        "            taking = self.deduplicate_in_order(slices, ends, together)\n",
        WIDE + "test_none_of_five_million_states_is_lost",
    ),
    mutant(
        "no-room-no-state", "states for whose successors a slice has no room are not expanded", EMBEDDED,
        "slices, ends = slices[short:], ends[short:]", "slices, ends = slices[short + 1 :], ends[short + 1 :]",
        WIDE + "test_slices_without_room_lose_nothing",
    ),
    mutant(
        "ways-over-ways", "how the states of a level were reached is written over that of an earlier level", STORED,
        "self.parents[self.count :], self.actions[self.count :]\n", "self.parents, self.actions\n",
        "tests/test_replication.py::test_threads_change_nothing",
    ),
    mutant(
        "signs-of-the-first-members", "a set of many members adds to signatures what its first ones would", LOWERING + "symmetry.py",
        "some << first", "some", "tests/test_symmetry.py::test_forms_of_many_members",
    ),
    mutant(
        "signs-by-other-numbers", "signatures of one set count the numbers of the members of another", LOWERING + "symmetry.py",
        "if type_.members in self.others:", "if False:", "tests/test_symmetry.py::test_one_form_for_all_names_of_two_sets",
    ),
    mutant(
        "one-set-in-order", "where members look alike, the others keep their numbers", LOWERING + "symmetry.py",
        "                    self.b.call(inner.code, [other, self.fault])\n", "                    pass\n",
        "tests/test_symmetry.py::test_one_form_for_all_names_of_two_sets", "tests/test_symmetry.py::test_a_search_keeps_one_state_of_each_orbit",
    ),
    mutant(
        "only-the-first-set", "that members are interchangeable is judged of the first set only", "model_check/interpreter/symmetry_check.py",
        "for members in part.names for to", "for members in part.names[:1] for to", "tests/test_symmetry.py::test_each_of_two_sets_is_judged",
    ),
    mutant(
        "only-exchanges", "states are compared with exchanges of two members only", "model_check/interpreter/symmetry_check.py",
        "MOST_RENAMINGS = 24", "MOST_RENAMINGS = 0",
        "tests/test_symmetry.py::test_a_claim_about_one_renaming_is_refused",
    ),
    mutant(
        "tasks-compare-nothing", "what tasks find on Spark is not compared under other names", "model_check/spark/engine.py",
        "compared = -(-SOME // parts) if self.renamings is not None else 0", "compared = 0",
        "tests/test_spark_order.py::test_members_that_are_told_apart_are_refused",
    ),
    mutant(
        "forms-not-judged", "what a form has done at once is not judged", "spec/vocabulary/table/spec.py",
        "return takes_steps or not self.checks_successors", "return not self.checks_successors", NORMAL + "test_what_a_form_makes_is_judged",
    ),
    mutant(
        "beginning-not-judged", "initial states are not judged where steps are", EMBEDDED,
        "self.world.spec.checks_successors and bool(self.history)", "self.world.spec.checks_successors",
        NORMAL + "test_initial_states_are_judged",
    ),
    mutant(
        "threads-do-not-wait", "a search goes on before the last thread has done its job", "model_check/search/threads.py",
        "for _ in jobs[1:]:", "for _ in jobs[2:]:", "tests/test_threads.py::test_all_jobs_have_ended",
        "tests/test_threads.py::test_the_error_of_the_first_job_is_raised",
    ),
    mutant(
        "last-of-many-threads", "of what several threads find in a level the last is reported", LEVEL_JUDGE,
        "firsts = [min(some", "firsts = [max(some", WIDE + "test_of_states_from_many_slices_the_first_is_told",
    ),
    mutant(
        "last-step-of-many-threads", "of the steps that several threads find the last is reported", TALLY,
        "index, action = min(hits)", "index, action = max(hits)", WIDE + "test_of_steps_from_many_slices_the_first_is_told",
    ),
    mutant(
        "one-thread-reported", "what is found on the edges of other threads than the first is forgotten", TALLY,
        "for row in counters if row[place] >= 0]", "for row in counters[:1] if row[place] >= 0]", WIDE + "test_the_one_state_of_a_wide_level",
    ),
    mutant(
        "one-thread-digest", "the digest is the first thread's", TALLY,
        "counters[:, counted.DIGEST].astype(np.uint64).sum()", "counters[:1, counted.DIGEST].astype(np.uint64).sum()",
        TOYS + "test_wide_levels_are_shared_by_threads",
    ),
    mutant(
        "new-from-the-start", "the initial states count as new by the first rule", EMBEDDED,
        "if len(self.history) > 1:", "if self.history:", TOYS + "test_engines_find_the_same",
    ),
    mutant(
        "no-deadlock", "a deadlock is not reported", TALLY,
        "places = [(DEADLOCK, counted.STUCK)] if search.result.deadlock else []", "places = []", TOYS + "test_engines_find_the_same",
    ),
    mutant(
        "last-deadlock", "the last stuck state of a level is reported", RULES,
        "with self.b.if_then(first):", "with self.b.if_then(I1(1)):",
        TOYS + "test_engines_find_the_same[assigns-to the first-deadlock]",
    ),
    mutant(
        "final-states-are-stuck", "a final state is a deadlock", RULES,
        "first = self.b.and_(first, self.b.not_(final))", "first = self.b.and_(first, I1(1))",
        "tests/test_final_states.py::test_final_states_are_judged_one_by_one",
    ),
    mutant(
        "deadlock-unasked", "a check judges deadlocks only if asked to", CHECK,
        "deadlock = spec.checks_deadlock if properties is None else DEADLOCK in properties", "deadlock = False",
        "tests/test_final_states.py::test_a_check_looks_for_deadlocks_unless_the_spec_may_rest_anywhere",
    ),
    mutant(
        "constraint-not-judged", "states beyond a constraint are not judged", COUNTED,
        "if spec.checks_successors:", "if spec.reduced:", VIEW + "test_what_a_constraint_leaves_out_is_judged_one_step_far",
    ),
    mutant(
        "constraint-ignored", "a constraint ends nothing", RULES,
        "self.within(inside, index, constraint.__name__, out)", "self.within(I1(1), index, constraint.__name__, out)",
        VIEW + "test_a_constraint_ends_the_exploration_where_it_does_not_hold",
    ),
    mutant(
        "view-ignored", "a view hides nothing", SUCCESSORS,
        "if not self.viewer.parts:", "if self.layout.size:", VIEW + "test_a_view_says_what_identifies_a_state",
    ),
    mutant(
        "view-changes-the-state", "the state is changed as its view is", SUCCESSORS,
        "        copy = self.b.bitcast(self.slot(ir.ArrayType(I64, -(-self.layout.size // 8))), POINTER)\n        self.copy(copy, state, self.layout.size)\n",
        "        copy = state\n", VIEW + "test_what_a_view_hides_stays_in_the_state",
    ),
    mutant(
        "view-without-a-word", "a verdict does not say that it holds up to a view", "model_check/report/text.py",
        "        left.append(f\"up to the view", "        str(f\"up to the view", VIEW + "test_a_verdict_says_up_to_what_it_holds",
    ),
    mutant(
        "constraint-without-a-word", "a verdict does not say that it holds up to a constraint", "model_check/report/text.py",
        "        left.append(f\"up to the constraint", "        str(f\"up to the constraint", VIEW + "test_a_verdict_says_up_to_what_it_holds",
    ),
    mutant(
        "normal-form-ignored", "the normal form of a state is not taken", SUCCESSORS,
        "if self.former.parts:", "if self.former.parts and not self.layout.size:", NORMAL + "test_the_toy_is_reduced_and_equal",
    ),
    mutant(
        "ranks-with-gaps", "numbers keep their gaps", LOWERING + "normal_form.py",
        "with self.b.if_then(gaps):", "with self.b.if_then(ir.IntType(1)(0)):", NORMAL + "test_the_toy_is_reduced_and_equal",
    ),
    mutant(
        "first-4096-states", "of many initial states 4,096 are taken", EMBEDDED,
        "for begin in range(0, len(records), len(part.marks)):", "for begin in range(0, min(len(records), 1), len(part.marks)):",
        "tests/test_engines_agree.py::test_many_initial_states",
    ),
)  # fmt: skip

STEPS = (
    mutant(
        "last-value", "the last value of a later parameter with four or more values is left out", RULES,
        "start, stop, weight = I64(low), I64(high + 1), I64(", "start, stop, weight = I64(low), I64(high + 1 - (depth > 0 and high - low >= 3)), I64(",
        TOYS + "test_all_values_of_all_parameters_are_tried",
    ),
    mutant(
        "items-that-are-not-there", "a parameter runs over all places of a sequence, used or not", RULES,
        "stop = self.length(Ref(", "self.length(Ref(", TOYS + "test_channel_is_first_in_first_out",
    ),
    mutant(
        "last-value-of-an-opening", "a guard that rules ask first holds for one value less", OPENINGS,
        "I64), ONE), inside)", "I64), I64(2)), inside)", "tests/test_shared_guards.py::test_rules_take_turns",
    ),
    mutant(
        "first-guard-behind-an-opening", "a longer opening leaves out the guard behind the shorter one", OPENINGS,
        "opening.asked[len(begin.asked) :]", "opening.asked[len(begin.asked) + 1 :]", "tests/test_shared_guards.py::test_rules_take_turns",
    ),
    mutant(
        "steps-of-the-protocol", "step invariants are judged on protocol rules only", RULES,
        "self.judge_steps(after, action)", 'rule.kind == "protocol" and self.judge_steps(after, action)',
        TOYS + "test_step_invariant_binds_operators_and_faults",
    ),
    mutant(
        "within-ignored", "what a bound forbids is done", RULES,
        "for limit in rule.bound_guards:", "for limit in ():", TOYS + "test_within_is_counted_as_bound",
    ),
    mutant(
        "off-protocol", "a bound of 0 switches protocol rules off, too", "spec/vocabulary/table/rules.py",
        'return self.kind != "protocol" and bool(self.limits)', "return bool(self.limits)",
        AT_MOST + "test_a_bound_of_0_switches_a_rule_off",
    ),
    mutant(
        "off-is-stuck", "a state in which only a rule could fire that is switched off is a deadlock in compiled code", RULES,
        "second = self.b.and_(idle, self.b.not_(self.late))", "second = I1(0)",
        AT_MOST + "test_a_rule_that_is_off_tells_a_rest_from_a_deadlock",
    ),
    mutant(
        "one-firing-more", "a rule that says at_most fires once more", RULES,
        'self.b.icmp_signed("<", count, self.highest(packed.type))', 'self.b.icmp_signed("<=", count, self.highest(packed.type))',
        AT_MOST + "test_a_limit_is_looked_at_before_the_step",
    ),
    mutant(
        "firings-not-counted", "the firings of a rule that says at_most are not counted", RULES,
        'ONE), f"rule {rule.name}"', 'ZERO), f"rule {rule.name}"', AT_MOST + "test_it_is_what_one_would_write_by_hand",
    ),
    mutant(
        "oracle-one-firing-more", "the oracle lets a rule that says at_most fire once more", INTERPRETER,
        ">= self.bounds[limit.name]", "> self.bounds[limit.name]", AT_MOST + "test_a_limit_is_looked_at_before_the_step",
    ),
    mutant(
        "oracle-firings-not-counted", "the oracle does not count the firings of a rule that says at_most", INTERPRETER,
        "count_firing(after, limit)", "pass", AT_MOST + "test_it_is_what_one_would_write_by_hand", AT_MOST + "test_a_step_is_counted_after_its_effects",
    ),
    mutant(
        "step-without-antecedent", "a step invariant is judged though its antecedent is not met", JUDGES,
        "self.b.if_then(met[claim.antecedents]) if", "contextlib.nullcontext() if", WHEN + "test_a_claim_is_made_of_what_meets_its_antecedent", WHEN + "test_random_graphs",
    ),
    mutant(
        "no-step-after-an-antecedent", "a step invariant with an antecedent is not judged", JUDGES,
        "self.b.if_then(met[claim.antecedents]) if", "self.b.if_then(ir.Constant(ir.IntType(1), 0)) if", WHEN + "test_a_claim_is_made_of_what_meets_its_antecedent", WHEN + "test_random_graphs",
    ),
    mutant(
        "state-without-antecedent", "an invariant is judged though its antecedent is not met", JUDGES,
        "self.b.and_(open_, met[claim.antecedents]) if", "open_ if", WHEN + "test_a_claim_is_made_of_what_meets_its_antecedent", WHEN + "test_random_graphs",
    ),
    mutant(
        "tested-by-nothing", "how often an antecedent was met is not counted", EMBEDDED,
        "self.result.tested[claim.name] += tests[claim.antecedents]", "pass", WHEN + "test_a_claim_is_made_of_what_meets_its_antecedent",
    ),
    mutant(
        "oracle-without-antecedent", "the oracle judges an invariant though its antecedent is not met", INTERPRETER,
        "(when is not None and not self.answer(claim, when, of)) or ", "", WHEN + "test_a_claim_is_made_of_what_meets_its_antecedent",
    ),
    mutant(
        "last-step-out-of-domain", "the last step out of a domain is reported, not the first", RULES,
        'with self.b.if_then(self.b.icmp_signed("<", self.b.load(self.counter(UNTYPED)), ZERO)):',
        'with self.b.if_then(self.b.icmp_signed("<", ZERO, ONE)):', TOYS + "test_engines_find_the_same[assigns twice-to the first-]",
    ),
    mutant(
        "domain-is-bound", "a step out of a domain counts as forbidden by a bound", LOWERING + "emit.py",
        'with self.check(inside, "bound" if type_.bound else "domain", place, above):', 'with self.check(inside, "bound", place, above):',
        TOYS + "test_leaving_a_domain_violates_the_type_invariant",
    ),
    mutant(
        "edge-without-action", "the digest does not tell which rule leads along an edge", HASHING,
        "xor(action, _word(SECRET[1]))", "_word(SECRET[1])", TOYS + "test_engines_find_the_same",
    ),
    mutant(
        "oracle-known-states", "the oracle judges steps to new states only", ORACLE,
        'claim.kind == "step invariant":', 'claim.kind == "step invariant" and self.world.key(after) not in self.seen:',
        TOYS + "test_step_invariant_breaks_on_an_edge_to_a_known_state",
    ),
    mutant(
        "oracle-steps-of-the-protocol", "the oracle judges step invariants on protocol rules only", ORACLE,
        'claim.kind == "step invariant":', 'claim.kind == "step invariant" and rule.kind == "protocol":',
        TOYS + "test_step_invariant_binds_operators_and_faults",
    ),
    mutant(
        "oracle-first-item", "the oracle tries the first item of a sequence only", INTERPRETER,
        "return range(len(getattr(s, parameter.field)))", "return range(min(1, len(getattr(s, parameter.field))))", TOYS + "test_every_item_is_tried",
    ),
    mutant(
        "oracle-last-value", "the oracle leaves out the last value of a parameter", INTERPRETER,
        "return range(type_.low, type_.high + 1)", "return range(type_.low, max(type_.low + 1, type_.high))",
        TOYS + "test_all_values_of_all_parameters_are_tried",
    ),
    mutant(
        "action-numbers", "two bindings of a rule have one number", "model_check/record/actions.py",
        "ordinal = ordinal * (high - low + 1) + value - low", "ordinal = ordinal * (high - low) + value - low",
        "tests/test_domain.py::test_actions_are_numbered_without_gaps",
    ),
    mutant(
        "one-byte-too-few", "numbers up to 256 are packed into one byte", LAYOUT,
        "else (0, (1 << 8 * size) - 1)", "else (0, 1 << 8 * size)", "tests/test_domain.py::test_scalars_take_the_fewest_bytes",
        TOYS + "test_counter_crosses_bytes",
    ),
    mutant(
        "no-sign", "negative numbers are read without their sign", LOWERING + "emit.py",
        "return self.b.sext(raw, I64) if packed.signed else self.b.zext(raw, I64)", "return self.b.zext(raw, I64)",
        TOYS + "test_a_domain_that_fills_its_bytes_is_left",
    ),
)  # fmt: skip

WAYS_BACK = (
    mutant(
        "one-step-in-a-million", "one recoverable step in a million is dropped", GRAPHS,
        "if matter[actions[i]] != 0 and targets[i] != marks[parent]:",
        "if matter[actions[i]] != 0 and targets[i] != marks[parent] and targets[i] % 1000003 != 0:",
        WIDE + "test_none_of_four_million_steps_is_lost",
    ),
    mutant(
        "everything-is-the-first", "each claim of a property is about the first thing", "spec/vocabulary/table/properties.py",
        "tuple((name, binding[name]) for", "tuple((name, 0) for", EACH + "test_each_says_what_separate_claims_say",
    ),
    mutant(
        "one-speaks-for-all", "of interchangeable things one is judged", "spec/vocabulary/table/properties.py",
        "(self.bindings if self.each", "(self.bindings[:1] if self.each", EACH + "test_interchangeable_things_are_judged_together",
    ),
    mutant(
        "ways-of-the-interchangeable", "a way of one of several interchangeable things is judged", "model_check/interpreter/symmetry_check.py",
        'if claim.kind == "recoverable" and len(claim.bindings) > 1:', "if False:", EACH + "test_ways_of_interchangeable_things_are_refused",
    ),
    mutant(
        "bindings-alike", "the name of a property is expected of one of its claims", CHECK,
        "if len(set(met.values())) > 1:", "if False:", EACH + "test_claims_that_differ_must_be_named",
    ),
    mutant(
        "everyone-owes", "a state owes a way back though the antecedent is not met", PATHS,
        "len(ways) if c.when is None else ways.index(c.antecedents)", "len(ways)", WHEN + "test_a_claim_is_made_of_what_meets_its_antecedent", WHEN + "test_random_graphs",
    ),
    mutant(
        "nobody-owes", "no state owes a way back where there is an antecedent", PATHS,
        "owing = self.column(int(self.whens[claim]))", "owing = self.column(int(self.whens[claim])) & (self.whens[claim] == self.meets[0].shape[1])", WHEN + "test_a_claim_is_made_of_what_meets_its_antecedent",
    ),
    mutant(
        "undecided-is-lost", "a state from which a bound cuts a way off has none", PATHS,
        " | np.concatenate(steps.cuts)", "", BACK + "test_a_bounded_step_leaves_it_undecided",
    ),
    mutant(
        "first-piece-only", "ways are followed from the first 65,536 states only", RECOVERY,
        "range(0, len(left), PIECE)", "range(0, min(len(left), PIECE), PIECE)",
        BACK + "test_more_states_than_a_piece", BACK + "test_the_only_lost_state_of_many",
    ),
    mutant(
        "last-lost-state", "the last state without a way back is reported", PATHS,
        "int(np.argmax(lost))", "len(lost) - 1 - int(np.argmax(lost[::-1]))", BACK + "test_the_first_of_several_in_a_level_is_told",
    ),
    mutant(
        "safe-for-one-claim", "steps out of a state that meets one of two claims are dropped", GRAPHS,
        "lacking[i] = 1", "lacking[i] = 1 - meets[row]", BACK + "test_a_trap_is_found_at_its_first_state", BACK + "test_random_graphs",
    ),
    mutant(
        "one-claim-for-all", "all claims are judged as the first", PATHS,
        "[level[:, place] if", "[level[:, 0] if", BACK + "test_a_trap_is_found_at_its_first_state", BACK + "test_random_graphs",
    ),
    mutant(
        "operators-lead-back", "steps of operators count as ways back", PATHS,
        '[rule.kind == "protocol"', '[rule.kind != "fault"', BACK + "test_a_trap_is_found_at_its_first_state",
    ),
    mutant(
        "operators-undecided", "a step of an operator that a bound forbids leaves a state undecided", RULES,
        ' and self.program.rules[index].kind == "protocol":', ":",
        BACK + "test_a_trap_is_found_at_its_first_state", BACK + "test_random_graphs",
    ),
    mutant(
        "met-by-the-first", "which recoverable claims a state meets is noted for one of them", JUDGES,
        "I64(len(program.ways))), I64(index))", "I64(len(program.ways))), I64(0))",
        BACK + "test_a_trap_is_found_at_its_first_state", BACK + "test_random_graphs",
    ),
    mutant(
        "oracle-undecided-is-lost", "the oracle takes a state from which a bound cuts a way off for lost", "model_check/oracle/graph.py",
        " | self.cut", "", BACK + "test_a_bounded_step_leaves_it_undecided",
    ),
    mutant(
        "wrong-level", "a lost state at the beginning of a level is looked for in the level before", PATHS,
        'np.searchsorted(starts, number, side="right")', 'np.searchsorted(starts, number, side="left")', BACK + "test_a_trap_is_found_at_its_first_state", BACK + "test_random_graphs",
        FUZZ + "test_random_specs",
    ),
    mutant(
        "replay-looks-away", "a counterexample is not confirmed at its end", COUNTEREXAMPLE,
        "if not agreed:", "if False:", BACK + "test_a_wrong_finding_is_refused",
    ),
    mutant(
        "replay-without-guards", "a counterexample is replayed without its guards", COUNTEREXAMPLE,
        "if not self.world.allows(rule, before, binding):", "if False:", COMPARED + "test_a_way_must_be_legal",
    ),
)  # fmt: skip

LIVENESS = (
    mutant(
        "nothing-is-weakly-fair", "leads-to is judged without weak fairness", "model_check/search/liveness.py",
        'for which in ("weak", "strong")', 'for which in ("no", "strong")', LEADS + "test_a_lock",
    ),
    mutant(
        "nothing-is-strongly-fair", "strong fairness counts as none", "model_check/search/liveness.py",
        'for which in ("weak", "strong")', 'for which in ("weak", "no")', LEADS + "test_a_lock",
    ),
    mutant(
        "weak-is-strong", "weak fairness counts as strong", GRAPHS,
        "if strong[group] != 0:", "if strong[group] + weak[group] != 0:", LEADS + "test_a_lock",
    ),
    mutant(
        "undecided-parts", "a part that a bound cuts off may last for ever", "model_check/search/liveness.py",
        " & ~np.concatenate(self.steps.cuts)", "", LEADS + "test_a_bounded_step_leaves_it_undecided",
    ),
    mutant(
        "each-is-the-whole", "fairness to each binding is that of the rule", "model_check/record/actions.py",
        "groups += range(first, end) if each else [first] * (end - first)", "groups += [first] * (end - first)",
        LEADS + "test_a_rule_is_fair_as_a_whole_or_to_each_binding",
    ),
    mutant(
        "the-whole-is-each", "fairness of a rule is fairness to each binding", "model_check/record/actions.py",
        "groups += range(first, end) if each else [first] * (end - first)", "groups += range(first, end)",
        LEADS + "test_a_rule_is_fair_as_a_whole_or_to_each_binding",
    ),
    mutant(
        "enabled-twice", "a state counts as often as it enables a rule", GRAPHS,
        "if seen[group] != i + 1:", "if seen[group] != i + 2:", LEADS + "test_components", LEADS + "test_random_graphs",
    ),
    mutant(
        "eventually-from-anywhere", "what happens eventually has to happen from every state", PATHS,
        "owing[len(self.meets[0]) :] = False", "pass", LEADS + "test_random_graphs",
    ),
    mutant(
        "always-is-once", "what is always so eventually needs to be so once", "model_check/search/liveness.py",
        "if claim in lasting:", "if False:", LEADS + "test_random_graphs",
    ),
    mutant(
        "hopeless-for-one", "a state is given up if it meets some claim about paths", GRAPHS,
        "!= 0:\n                    open_[i] = 1", "!= 0:\n                    open_[i] = 1 - meets[row]", LEADS + "test_a_lock",
    ),
    mutant(
        "components-run-together", "a strongly connected part takes in what waits before it", GRAPHS,
        "rank[opened[waiting - 1]] >= low:", "rank[opened[waiting - 1]] >= 1:", LEADS + "test_components",
    ),
    mutant(
        "all-may-last", "steps of operators and faults may go on for ever", "model_check/search/liveness.py",
        '[rule.kind == "protocol" for', "[True for", LEADS + "test_a_lock",
    ),
    mutant(
        "only-from-parts", "a violation is looked for in the fair parts only, not on the way there", "model_check/search/liveness.py",
        "reason or spread(never,", "reason or spread(never.copy(),", LEADS + "test_the_circle_is_the_one_that_is_meant", LEADS + "test_a_state_without_any_step_is_a_violation",
        LEADS + "test_who_may_rest_breaks_a_promise", LEADS + "test_texts", LEADS + "test_json",
    ),
    mutant(
        "lasso-not-replayed", "the cycle of a counterexample is not confirmed", COUNTEREXAMPLE,
        "        if wrong:", "        if False:", LEADS + "test_a_wrong_lasso_is_refused",
    ),
)  # fmt: skip

LANGUAGE = (
    mutant(
        "limit-of-255", "a limit of 255 is not checked", LOWERING + "emit.py",
        'inside = self.b.icmp_signed("<=", value, self.highest(type_))',
        'inside = I1(1) if type_.high == 255 else self.b.icmp_signed("<=", value, self.highest(type_))',
        TOYS + "test_a_domain_that_fills_its_bytes_is_left", TOYS + "test_a_bound_that_fills_a_byte_is_left",
    ),
    mutant(
        "no-lowest", "a number below its domain is stored", LOWERING + "emit.py",
        'with self.check(self.b.icmp_signed("<=", I64(type_.low), value), "domain", place, below):',
        'with self.check(I1(1), "domain", place, below):', TOYS + "test_a_domain_that_fills_its_bytes_is_left",
    ),
    mutant(
        "bound-without-plus", "what is added to a bound is forgotten", LOWERING + "emit.py",
        "return self.b.add(bound, I64(type_.plus))", "return bound", FUZZ + "test_random_specs",
    ),
    mutant(
        "last-fault", "of several faults the last is reported", LOWERING + "emit.py",
        'self.b.store(self.b.select(self.b.icmp_signed("==", first, ZERO), code, first), self.fault)', "self.b.store(code, self.fault)",
        "tests/test_engines_agree.py::test_of_two_faults_in_a_step_the_first_counts",
    ),
    mutant(
        "negative-index", "a negative index is taken", LOWERING + "emit.py",
        'inside = self.b.icmp_unsigned("<", index, self.length(ref))', 'inside = self.b.icmp_signed("<", index, self.length(ref))',
        NATIVE + "test_functions_of_the_state",
    ),
    mutant(
        "pop-leaves-bytes", "the place of an item that moved up is not cleared", LOWERING + "writers.py",
        "        f.clear(f.item(ref, left).pointer, size)\n", "", TOYS + "test_engines_find_the_same",
    ),
    mutant(
        "truncate-leaves-bytes", "the places of items that were dropped are not cleared", LOWERING + "writers.py",
        "            f.clear(f.item(ref, to).pointer, f.b.mul(f.b.sub(length, to), size))\n", "",
        NATIVE + "test_each_effect_can_succeed",
    ),
    mutant(
        "twice-in-an-assignment", "the items of an assignment need not be distinct", LOWERING + "writers.py",
        "if type_.distinct:", "if False:", TOYS + "test_assignment_orders_distinct_brokers", TOYS + "test_engines_find_the_same",
    ),
    mutant(
        "meaningless-fields", "a field that means nothing in a message may be set", LOWERING + "writers.py",
        "if type_.tags is not None:", "if False:", TOYS + "test_meaningless_field_violates_the_type_invariant",
    ),
    mutant(
        "sets-unsorted", "an element is put at the front of a set", LOWERING + "elements.py",
        "return Found(elements, element, f.b.load(place), f.b.load(copies))", "return Found(elements, element, ZERO, f.b.load(copies))",
        ELEMENTS + "test_engines_find_what_is_counted_by_hand",
    ),
    mutant(
        "sets-are-bags", "a set holds an element twice", LOWERING + "elements.py",
        "fresh = I1(1) if type_.repeats else", "fresh = I1(1) if type_.capacity else", ELEMENTS + "test_engines_find_what_is_counted_by_hand",
    ),
    mutant(
        "remove-leaves-bytes", "the place of the last element is not cleared when one is removed", LOWERING + "elements.py",
        "        f.clear(f.item(found.elements, left).pointer, I64(found.element.packed.size))\n", "",
        ELEMENTS + "test_engines_find_what_is_counted_by_hand",
    ),
    mutant(
        "equal-elements-are-two-choices", "equal elements of a bag are chosen one by one", RULES,
        "if not elements.packed.type.repeats:", "if elements.packed.type.capacity:",
        ELEMENTS + "test_equal_elements_of_a_bag_are_one_choice",
    ),
    mutant(
        "absent-keys", "a loop over a map goes over keys without a value", LOWERING + "generators.py",
        "f.only_if(f.there(item), lambda: _named(f, name, now, body))", "_named(f, name, now, body)",
        MAPS + "test_the_engines_agree_on_maps",
    ),
    mutant(
        "absent-values", "what an option without a value holds is read as zero", LOWERING + "function.py",
        'self.note(self.there(option), node, "there is no value', 'self.note(self.b.icmp_signed("==", ZERO, ZERO), node, "there is no value',
        MAPS + "test_what_is_absent_is_an_error_in_both_engines",
    ),
    mutant(
        "dropped-values-stay", "the bytes of a dropped value stay, so equal states differ", LOWERING + "options.py",
        "        f.clear(f.item(option, ZERO).pointer, I64(option.packed.item.size))\n", "",
        MAPS + "test_counted_by_hand",
    ),
    mutant(
        "keys-out-of-range", "a number beyond the keys of a map is looked up as key 0", LOWERING + "generators.py",
        "return f.b.and_(inside, f.there(", "return f.b.or_(I1(0), f.there(", MAPS + "test_the_engines_agree_on_maps",
    ),
    mutant(
        "division-towards-zero", "division is rounded towards zero", LOWERING + "arithmetic.py",
        "floor = f.b.and_(uneven, apart)", "floor = f.b.and_(uneven, f.b.not_(uneven))", NATIVE + "test_numbers",
    ),
    mutant(
        "overflow", "a number that leaves 64 bits wraps", LOWERING + "arithmetic.py",
        '    f.note(b.not_(b.extract_value(both, 1)), node, "a number leaves 64 bits")\n', "",
        NATIVE + "test_numbers_beyond_64_bits_are_faults",
    ),
    mutant(
        "at-least-is-more", ">= is >", "spec/language/reading.py", 'ast.GtE: ">="', 'ast.GtE: ">"', NATIVE + "test_numbers",
    ),
    mutant(
        "rows-without-guards", "a row fires whatever its guards say", LOWERING + "firing.py",
        "for guard in row.guards:", "for guard in row.guards[:0]:", TOYS + "test_engines_find_the_same",
    ),
    mutant(
        "rows-whatever-they-forbid", "a row fires though a guard holds that it forbids", LOWERING + "firing.py",
        "for guard in row.unless:", "for guard in row.unless[:0]:", "tests/test_engines_agree.py::test_a_row_does_not_fire_unless",
        "tests/test_zookeeper.py::test_engines_agree", FUZZ + "test_random_specs",
    ),
    mutant(
        "first-source", "a row leaves the first of its sources only", LOWERING + "firing.py",
        "for source in row.sources:", "for source in row.sources[:1]:", FUZZ + "test_random_specs", "tests/test_zookeeper.py::test_engines_agree",
    ),
    mutant(
        "overlapping-rows", "two rows that fit are no error", LOWERING + "firing.py",
        'self.b.icmp_signed("<", picked, I64(2))', 'self.b.icmp_signed("<", picked, I64(3))', TOYS + "test_overlap_names_both_rows",
    ),
    mutant(
        "target-before-effects", "a row enters its target before its effects run", LOWERING + "firing.py",
        "        for effect in row.effects:\n", "        self.store(cell.packed, cell.pointer, I64(int(row.target)), self.where, '')\n        for effect in row.effects:\n",
        "tests/test_engines_agree.py::test_effects_of_a_row_see_its_source",
    ),
)  # fmt: skip

FORMS, WHOLES, STARTS = "spec/language/domain/forms.py", LOWERING + "wholes.py", "model_check/search/initial_states.py"
COPIES, CHOSEN, BEGINNINGS = "tests/test_whole_copies.py::", "tests/test_whole_parameters.py::", "tests/test_initial_states.py::"
VALUES = (
    mutant(
        "copies-of-any-size", "a sequence is copied to one with less room", FORMS,
        "return kind, type_.capacity, type_.bound, type_.distinct, form(type_.item)", "return kind, type_.distinct, form(type_.item)",
        COPIES + "test_other_values_are_refused",
    ),
    mutant(
        "copies-of-any-class", "a record is copied to one of another class", FORMS,
        "        return type_.cls\n", '        return "record"\n', NATIVE + "test_refused_by_the_compiler",
    ),
    mutant(
        "copies-of-any-number", "numbers are copied to where they may be too large", FORMS,
        "type_.high if type_.bound is None else (type_.bound, type_.plus)", "0", COPIES + "test_other_values_are_refused",
    ),
    mutant(
        "given-containers-are-empty", "an element has no container that it is given", LOWERING + "elements.py",
        "            f.copy(at, number.pointer, part.size)\n", "", COPIES + "test_engines_agree",
    ),
    mutant(
        "shared-by-python", "plain Python shares what it copies", FORMS, "return type_.copy(source)", "return source",
        COPIES + "test_copies_share_nothing",
    ),
    mutant(
        "arrays-backwards", "an array as a parameter is read from its end", WHOLES,
        "index = self.b.sub(I64(length - 1), now)", "index = now", CHOSEN + "test_engines_agree",
    ),
    mutant(
        "sequences-too-long", "of sequences as parameters some are there twice, others never", WHOLES,
        "first = end", "first = end + 1", CHOSEN + "test_engines_agree",
    ),
    mutant(
        "starts-that-are-none", "a start that leaves a bound or a domain is left out without a word", STARTS,
        "if part.count != fired or fired == 0 or cut:", "if part.count == 0:", BEGINNINGS + "test_what_is_no_initial_state_is_refused",
    ),
    mutant(
        "starts-in-any-order", "initial states are in the order of their bytes", STARTS,
        "= np.sort(first)", "= first", BEGINNINGS + "test_the_order_is_that_of_bindings",
    ),
    mutant(
        "starts-beyond-the-constraint", "compiled code makes initial states that do not meet the constraint", STARTS,
        "if spec.reduced or spec.view or spec.constraint is not None:", "if spec.reduced or spec.view:",
        BEGINNINGS + "test_what_plain_python_decides",
    ),
)  # fmt: skip

EVERY, JUDGED, TAKEN = (
    "model_check/search/every_state.py",
    "model_check/search/induction_code.py",
    "model_check/search/induction.py",
)
CHECKED, INDUCTIVE = "model_check/inductive.py", "tests/test_inductive.py::"
INDUCTION = (
    mutant(
        "no-last-value", "a number never has its highest value", EVERY, "np.arange(type_.low, type_.high + 1)",
        "np.arange(type_.low, type_.high)", INDUCTIVE + "test_every_value_once",
    ),
    mutant(
        "bags-are-sets", "no element is in a bag twice", EVERY, "itertools.combinations_with_replacement if type_.repeats else itertools.combinations",
        "itertools.combinations", INDUCTIVE + "test_every_value_once",
    ),
    mutant(
        "tagged-in-order-of-tags", "sets of tagged records are not in their order, so that they are other states", EVERY,
        "return rows[np.lexsort(_keys(place, rows)[::-1])]", "return rows", INDUCTIVE + "test_every_value_once",
    ),
    mutant(
        "states-without-the-last", "the last states are not tried", CHECKED, "for begin in range(0, self.every.count, size * len(self.workers)):",
        "for begin in range(0, self.every.count - 1, size * len(self.workers)):", INDUCTIVE + "test_the_last_state_counts",
    ),
    mutant(
        "admitted-too-many", "states count as admitted that violate the last invariant", TAKEN,
        "states, which = states[which >= self.needed], which[which >= self.needed]",
        "states, which = states[which >= self.needed - 1], which[which >= self.needed - 1]", INDUCTIVE + "test_an_inductive_check_is_what_it_says",
    ),
    mutant(
        "all-asked-at-once", "an invariant is asked of states that one before it excludes", JUDGED,
        "self.b.cbranch(self.b.or_(violated, faulted), ended, following)", "self.b.cbranch(faulted, ended, following)",
        INDUCTIVE + "test_an_inductive_check_is_what_it_says",
    ),
    mutant(
        "asked-without-antecedent", "an invariant is asked where its antecedent is not met", JUDGED,
        "self.b.cbranch(self.some(claim.antecedents, scope), asked, following)", "self.b.branch(asked)", INDUCTIVE + "test_antecedents_and_bindings",
    ),
    mutant(
        "initial-states-untried", "initial states are not judged", CHECKED, "            self.begin()\n", "", INDUCTIVE + "test_an_inductive_check_is_what_it_says",
    ),
    mutant(
        "one-piece-of-a-block", "only the first piece of a block takes its steps", TAKEN, "for begin in range(0, len(states), PIECE):",
        "for begin in range(0, min(1, len(states)), PIECE):", INDUCTIVE + "test_blocks_and_pieces_of_any_size",
    ),
    mutant(
        "limits-of-the-search", "a search with limits says that no state is reachable", CHECKED,
        "if self.free:", "if False:", INDUCTIVE + "test_a_search_with_limits_leaves_it_open",
    ),
    mutant(
        "limits-stay", "how often rules fire is bounded", "spec/vocabulary/unlimited.py",
        "rule if reads or any(bounds[limit.name] == 0 for limit in rule.limits) else _without_limits(rule)", "rule",
        INDUCTIVE + "test_rules_fire_any_number_of_times",
    ),
)  # fmt: skip

GROUPS = (COMPARISONS, CACHES, VERDICTS, LEVELS, STEPS, WAYS_BACK, LIVENESS, LANGUAGE, VALUES, INDUCTION)
MUTANTS: tuple[Mutant, ...] = tuple(mutant for group in GROUPS for mutant in group)

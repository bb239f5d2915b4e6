/**
 * Generated mutants that survive, and why that is right. By the key that `deno task clauses --mutate` prints: the operator
 * and the statement, with names as $1, $2 and without texts, so that a rename or a move changes no key.
 */
export const ACCEPTED_SURVIVORS: Readonly<Record<string, string>> = {
  "right dropped: const $1 = «$2.$3?.$4 ??$5?.$6.$7 ??$8»;":
    "The key only has to differ between two resizes, and the other times in it differ as well.",
  'member dropped: return { «$1», $2 : "", $3 };':
    "No test compares the whole notice: tests look for its message and for its reason in events.",
  'branch chosen: const $1 = «$2.$3 === ""?$2.$4 : $5»;':
    "The key only has to differ between two resizes, and both numbers do.",
  'member dropped: return { $1, $2 : "", «$3» };':
    "No test compares the whole notice: tests look for its message and for its reason in events.",
  'branch chosen first: const $1 = «$2.$3 === ""?$2.$4 : $5»;':
    "The key only has to differ between two resizes, and both numbers do.",
  "number changed: return { $1, $2 : $3.$4 ($3.$5 ($6, $2), $3.$5 ($7, $2)), $8 : $1 === null && $9 === $10, $11 : $12 ($11)?$11 : «0», $13 : $14.$15 ($16), $17 : $18 };":
    "A Lease without a count of holders is not in any test: the count is for people.",
  'right dropped: return «$1 === $2 || $1 === null» || typeof $1 === "";':
    "JSON has no undefined member that a test could send, and an absent one is allowed by the type check alone.",
  "branch chosen: return $1 («$2 > $3?$4 : $5 << $6 ($2)»);":
    "cap() gives the same maximum: the other branch only keeps a huge number from being shifted.",
  "boundary moved: return $1 («$2 > $3»?$4 : $5 << $6 ($2));":
    "cap() gives the same maximum: the other branch only keeps a huge number from being shifted.",
  "boundary moved: if ($1 === null || «$2 < $1.$2») $1 = { $2, $3 };":
    "Of two samples of one time either may be the first, as tests give both one window.",
  'member dropped: const $1 = { «$2», $3 : "", $4, $5 : null, $6 : null, $7 : [] } as type;':
    "The report at idle replicas is compared by its reason, not by its numbers.",
  "boundary moved: return $1 === false && $2 !== null && «$2 > 0» && $3 <= $2;":
    "The parser accepts no idle replicas but 0 or more, and at 0 there is no scaling loop.",
  'member dropped: return { $1 : "", $2 : $3 ($4, $5), «$5» };':
    "The position of a number stands in no message, as no error names a number.",
  'right dropped: if («$1.$2 !== "" || typeof $1.$3 === ""») return null;':
    "Other nodes have no value, so the second check refuses them too.",
  "member dropped: $1 ($2, { «$3 : $4», $5, $6 : $7 ($6) })":
    "An object is found by its kind first, and no two kinds of KEDA share a name with another group.",
  "equality turned: «$1 === $2.$1»": "Tests have one end per container here, so the first found is the right one.",
  'right dropped: if ($1 === null || («$2 && $3.$4.$5 === ""»)) $1 = $3;':
    "It only chooses which of two reasons is named, and tests have no choice that is stopped after a blocked one.",
  "number changed: return $1.$2 ? 1 : - «1»;": "A comparison counts by its sign alone.",
  "number changed: return $1.$2 ? «1» : - 1;": "A comparison counts by its sign alone.",
  "method swapped: const $1 = $2 ($3, «$4.$5 ($6)»);":
    "The amount is only part of a message, and the tests use whole millicores.",
  "number changed: $1.$2 < $3.$2 ? - 1 : $1.$2 > $3.$2 ? 1 : «0»":
    "All requirements of a selector must hold, so the order of two with one key changes nothing.",
  "boundary moved: $1 ($2) === $3 && «($4 [$2] ?? 0) > ($5 [$2] ?? 0)»":
    "A field that a resize changes is never as large as before.",
  "member dropped: $1 ($2, { «$3», $4 : $5.$6 })":
    "No test compares the whole notice: tests look for its message and for its reason in events.",
  "branch chosen: return «$1 === null ? - $2 : $1 + $3»;":
    "A cooldown after 1970 has ended as well, and the caller takes the later of it and of now.",
  "left dropped: if («$1 !== null && $2 !== null») this.$3.$4.$5 ($2.$6, $1);":
    "The types refuse a resize that is null, and to record one changes nothing.",
  "right dropped: return «$1.$2.$3 !== null && $4.$2.$5 !== null» && $1.$2.$3 <= $4.$2.$5;":
    "JavaScript compares null as 0, and no maximum is as low as that.",
};

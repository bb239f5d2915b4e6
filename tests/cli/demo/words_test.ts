import { assertEquals, assertMatch } from "#assert";
import { toShortWords } from "../../../lib/cli/demo/words.ts";
import { BLOCK_REASONS, HOLD_REASONS } from "../../../lib/model/reasons.ts";
import { REPLICAS_REASONS } from "../../../lib/model/replicas_decision.ts";

Deno.test("toShortWords() has plain words for each reason, which fit next to a chart", () => {
  for (const reason of [...HOLD_REASONS, ...BLOCK_REASONS, ...REPLICAS_REASONS]) {
    // Capitals only in names such as CPU, and never within a word.
    assertMatch(toShortWords(reason), /^(?!.*[a-z][A-Z]).{4,22}$/, reason);
  }
  assertEquals([toShortWords("InBand"), toShortWords("DisruptionBudget"), toShortWords("LimitRange")], [
    "usage in range",
    "disruption budget",
    "limit range",
  ]);
});

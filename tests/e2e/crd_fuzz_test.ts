/**
 * Random manifests, read alike by the API server and by podfit's parser. The seed is fixed, so that a failure comes
 * again; another one is tried by CRD_FUZZ_SEED, and more manifests by CRD_FUZZ_RUNS.
 */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { anyManifest } from "../support/manifest_arbitraries.ts";
import { findDisagreement } from "./support/agreement.ts";
import { eachRow, openDryRun } from "./support/dry_run.ts";
import { scenario } from "./support/needs.ts";

const SEED = Number(Deno.env.get("CRD_FUZZ_SEED") ?? 20260102);
const RUNS = Number(Deno.env.get("CRD_FUZZ_RUNS") ?? 400);

scenario("C7 C8 the API server and the parser agree on random manifests", {
  async run({ namespace }) {
    await using server = await openDryRun(namespace);
    let accepted = 0;
    const failures = await eachRow(fc.sample(anyManifest(), { seed: SEED, numRuns: RUNS }), async (text) => {
      const verdict = await server.ask(text);
      if (verdict.isAccepted) accepted++;
      const disagreement = findDisagreement(text, verdict);
      return disagreement === null ? null : `${disagreement}, seed ${SEED}, of ${text.slice(0, 2000)}`;
    });
    assertEquals(failures, []);
    assert(accepted > RUNS / 5 && accepted < RUNS * 4 / 5, `${accepted} of ${RUNS} were accepted`);
  },
});

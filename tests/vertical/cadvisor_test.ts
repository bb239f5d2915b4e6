/**
 * A recorded node, polled once a second. Containers are read fresh for their first seconds; then cAdvisor refreshes
 * them every 10 to 19 s in whole seconds. At the switch time stays while the counter grows.
 * Clauses: C21, C22.
 */
import { assert, assertEquals } from "#assert";
import recorded from "../testdata/usage/cadvisor_1hz.json" with { type: "json" };
import type { Sample } from "../../lib/model/state.ts";
import { newSampling, nextSampling, type SamplingStep } from "../../lib/vertical/samples.ts";
import { MI, point, SECOND, START } from "../support/builders.ts";

/** Each second's poll gives what was last refreshed. */
function poll(pod: string): { readonly steps: SamplingStep["kind"][]; readonly samples: Sample[] } {
  let sampling = newSampling(START);
  const steps: SamplingStep["kind"][] = [];
  const samples: Sample[] = [];
  for (let second = 0; second <= 230; second++) {
    const seen = recorded.findLast((one) => one.pod === pod && one.second <= second);
    if (seen === undefined) continue;
    const step = nextSampling(
      sampling,
      point({
        instance: seen.startTime,
        at: Date.parse(seen.time),
        counterNs: seen.cpuNs,
        workingSetBytes: seen.workingSetBytes,
        usageBytes: seen.usageBytes,
      }),
      {
        now: START + second * SECOND,
        capacity: { cpuMillicores: 2000, memoryBytes: 24000 * MI },
        podUsageBytes: null,
        cpuLimitMillicores: null,
        throttling: "measure",
      },
    );
    steps.push(step.kind);
    if (step.kind === "sample") samples.push(step.sample);
    if ("sampling" in step) sampling = step.sampling;
  }
  return { steps, samples };
}

Deno.test("nextSampling() reads a steady load off a node with cAdvisor, without gaps or overlaps (C21)", () => {
  const { steps, samples } = poll("steady");
  assertEquals(steps.filter((one) => one !== "nothing" && one !== "sample"), ["warmup"]);
  const rates = samples.map(({ cpuMillicores }) => cpuMillicores);
  assert(rates.length >= 15, `${rates.length} rates`);
  // The container burns 75m to 100m; a second of rounding in four is the worst of it.
  for (const rate of rates) assert(rate > 60 && rate < 125, `${rate}m`);
  for (const [index, { at, from }] of samples.entries()) {
    if (index > 0) assertEquals(from, samples[index - 1]?.at);
    if (index > 0) assert(at - from >= 4 * SECOND && at - from <= 20 * SECOND, `${at - from}ms`);
  }
});

Deno.test("nextSampling() takes each refreshed value once, however often it is polled (C22)", () => {
  const { samples } = poll("steady");
  assertEquals(new Set(samples.map(({ at }) => at)).size, samples.length);
});

Deno.test("nextSampling() starts over once when the recorded container restarts, and never rates across it (C22)", () => {
  const { steps, samples } = poll("restarts");
  assertEquals(steps.filter((one) => one === "restarted").length, 1);
  const restartedAt = Date.parse("2026-11-20T11:58:08Z");
  assertEquals(samples.filter(({ from, at }) => from < restartedAt && at > restartedAt), []);
  for (const { cpuMillicores } of samples) {
    assert(cpuMillicores > 25 && cpuMillicores < 65, `${cpuMillicores}m`);
  }
});

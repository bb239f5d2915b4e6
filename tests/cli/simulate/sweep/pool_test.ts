import { assert, assertEquals } from "#assert";
import { parseManifestObjects } from "../../../../lib/cli/manifests/objects.ts";
import { listCandidates, parseAxis, tryCandidates } from "../../../../lib/cli/simulate/sweep/sweep.ts";
import { shareLoad, type Trial } from "../../../../lib/cli/simulate/sweep/try_policy.ts";
import { loadOf } from "../../../simulate/runs.ts";
import { autoscaler, DEPLOYMENT } from "../files.ts";

const SECONDS = 1800;
const { workloads, manifests } = parseManifestObjects([
  { name: "web.yaml", text: `${DEPLOYMENT}---\n${autoscaler("profile: balanced")}` },
]);
const CANDIDATES = listCandidates(manifests, [parseAxis("profile=latency,nonsense,thrifty")]);

Deno.test("tryCandidates() comes to the same in workers, in this process, and where workers break", async () => {
  const counts: number[] = [];
  const lost: unknown[] = [];
  const [onDone, onLost] = [() => {}, (error: unknown) => lost.push(error)];
  const trial = newTrial();
  const here = await tryCandidates(trial, CANDIDATES, { workers: 1, onDone: (count) => counts.push(count), onLost });
  assertEquals(counts, [1, 2, 3, 4]);
  assertEquals(here.map(({ ok }) => ok), [true, true, false, true]);
  const [given, latency] = here.map((one) => one.ok ? one.totals.slack : NaN);
  assert(given !== latency, "the policies do not differ");
  assertEquals(await tryCandidates(trial, CANDIDATES, { workers: 2, onDone, onLost }), here);
  assertEquals(lost, []);
  const broken = { tryPolicy: () => Promise.reject(new Error("lost")), [Symbol.dispose]: () => {} };
  assertEquals(await tryCandidates(trial, CANDIDATES, { workers: 2, onDone, onLost, start: () => broken }), here);
  assertEquals(lost.map(String), ["Error: lost", "Error: lost"]);
  const start = () => {
    throw new Error("no workers here");
  };
  assertEquals(await tryCandidates(trial, CANDIDATES, { workers: 2, onDone, onLost, start }), here);
  assertEquals(lost.length, 4);
});

Deno.test("tryCandidates() ends the workers that it has started", async () => {
  let [started, ended] = [0, 0];
  const start = () => {
    started++;
    const tryPolicy = () => Promise.resolve({ ok: false, message: "never mind" } as const);
    return { tryPolicy, [Symbol.dispose]: () => void ended++ };
  };
  await tryCandidates(newTrial(), CANDIDATES, { workers: 3, onDone: () => {}, onLost: () => {}, start });
  assertEquals([started, ended], [3, 3]);
});

function newTrial(): Trial {
  const load = loadOf((second) => ({ cpuMillicores: second < 600 ? 150 : 700 }));
  return {
    workloads,
    scaledObjects: [],
    loads: { app: shareLoad(load, SECONDS) },
    unknown: {},
    seed: "1",
    seconds: SECONDS,
  };
}

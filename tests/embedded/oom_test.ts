/**
 * Apps that podfit used to kill for ever, on the embedded cluster under virtual time with the document's example policy
 * (L6, L7, L10, L11, L12): after the first answer to an OOM kill at most one kill follows, and none in the last 50 % of
 * the run.
 */
import { assert, assertEquals } from "#assert";
import { parse } from "../../lib/runtime/yaml.ts";
import { deployment, type LoadContainer } from "../e2e/support/workloads.ts";
import { parseAmount } from "../../lib/units/quantity.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun } from "../support/cluster_run.ts";
import { EXAMPLE } from "../support/manifests.ts";

const MI = 2 ** 20;
const NAME = "load-generator";
const RUN_SECONDS = 20 * 60;

interface App {
  /** By the age of an instance, in bytes. */
  readonly memory: Json;
  readonly container?: LoadContainer;
  /** A change of the example. */
  readonly edit?: (spec: Json) => void;
}

interface Lived {
  /** Seconds from the start of podfit, of each OOM kill. */
  readonly kills: readonly number[];
  /** Seconds of each resize, and the limit that it gave in Mi. */
  readonly resizes: readonly (readonly [number, number])[];
  readonly restarts: number;
  readonly limitMi: number;
  readonly events: readonly string[];
}

async function live({ memory, container = {}, edit = () => {} }: App): Promise<Lived> {
  await using run = await ClusterRun.start();
  const load = { [NAME]: { cpuMillicores: 150, workingSetBytes: memory } };
  const sizes = { requests: { cpu: "200m", memory: "128Mi" }, limits: { cpu: "400m", memory: "320Mi" } };
  const autoscaler = parse(EXAMPLE) as Json;
  edit(autoscaler.spec);
  await run.create(
    deployment(NAME, {
      containers: [{ name: NAME, ...sizes, ...container }],
      annotations: { "sim.podfit.dev/load": JSON.stringify(load) },
    }),
    autoscaler,
  );
  await using podfit = run.startPodfit();
  const kills = new Map<string, number>();
  const resizes: [number, number][] = [];
  let main: Json = {};
  for (let second = 0; second < RUN_SECONDS; second++) {
    await run.advance(1);
    main = (await run.list("pods"))[0]?.status.containerStatuses?.[0] ?? {};
    for (const state of [main.lastState, main.state]) {
      const { reason, containerID } = state?.terminated ?? {};
      if (reason === "OOMKilled" && !kills.has(containerID)) kills.set(containerID, second);
    }
    while (resizes.length < podfit.lines("Resized pod").length) resizes.push([second, readMi(main)]);
  }
  assertEquals(run.errors, []);
  const events = (await run.events(NAME)).map((reason) => reason.replace("PodResourceAutoscaler", ""));
  return { kills: [...kills.values()], resizes, restarts: main.restartCount, limitMi: readMi(main), events };
}

function readMi({ resources }: Json): number {
  const parsed = parseAmount(resources?.limits?.memory, "memory");
  return parsed.ok ? parsed.amount / MI : 0;
}

/** None after 50 % of the run, and at most this number after the first answer. */
function assertCalm({ kills, resizes }: Lived, most: number): void {
  const story = `kills at ${kills.join()}, resizes ${JSON.stringify(resizes)}`;
  assertEquals(kills.filter((second) => second > RUN_SECONDS / 2), [], story);
  const [first = Infinity] = kills;
  const answeredAt = resizes.find(([second]) => second >= first)?.[0] ?? Infinity;
  assert(kills.filter((second) => second > answeredAt).length <= most, story);
}

/** Nothing but sizes: a scale-down goes all the way at once. */
function unbounded(spec: Json): void {
  delete spec.bounds;
}

Deno.test("an app that grows to 600Mi within 30 s under a limit of 320Mi is killed twice, and then runs (L10, L11)", async () => {
  const memory = { kind: "ramp", clock: "container", from: 50 * MI, to: 600 * MI, durationMs: 30_000 };
  const lived = await live({ memory });
  assertCalm(lived, 1);
  assertEquals([lived.kills.length, lived.restarts], [2, 2]);
  assert((lived.kills[1] ?? Infinity) < 90, `killed at ${lived.kills.join()}: it is answered at once`);
  assert(lived.limitMi >= 620, `${lived.limitMi}Mi`);
});

/**
 * A window of 15 minutes for scale-downs of memory (L2) keeps podfit from the first kill. Without it the limit comes
 * down to what the app uses when it is young, and goes up in answers of 100Mi, 200Mi and 400Mi.
 */
Deno.test("an app that uses 150Mi for 90 s and then 800Mi is not killed for ever (L7, L11, L12)", async () => {
  const memory = { kind: "step", clock: "container", before: 150 * MI, after: 800 * MI, atMs: 90_000 };
  const container = { limits: { cpu: "400m", memory: "1Gi" } };
  const lived = await live({ memory, container, edit: unbounded });
  assertCalm(lived, 2);
  assert(lived.limitMi >= 800, `${lived.limitMi}Mi`);
});

Deno.test("an app that a smaller size would restart, and that warms up slowly, is never scaled down on memory (L6)", async () => {
  const memory = { kind: "step", clock: "container", before: 100 * MI, after: 700 * MI, atMs: 60_000 };
  const resizePolicy = [{ resourceName: "memory", restartPolicy: "RestartContainer" }];
  const container = {
    requests: { cpu: "200m", memory: "960Mi" },
    limits: { cpu: "400m", memory: "1Gi" },
    fields: { resizePolicy },
  };
  const lived = await live({ memory, container, edit: unbounded });
  assertEquals([lived.kills, lived.restarts], [[], 0]);
  assertEquals(lived.limitMi, 1024);
  assertEquals(lived.events.filter((reason) => reason === "ResizeMayRestart").length, 1);
});

/**
 * The kernel kills it before the kubelet writes the pod's cgroup, at each start (docs/evidence/kubernetes-138760.md): nothing
 * but a new pod helps, and the status says so.
 */
Deno.test("an app that needs more than its limit at its very start is answered three times more, and then people are told (L11, L13)", async () => {
  const lived = await live({ memory: 400 * MI });
  assertEquals(lived.resizes.map(([, limit]) => limit), [420, 421, 422, 423]);
  assert(lived.events.includes("OOMKilled"), lived.events.join());
});

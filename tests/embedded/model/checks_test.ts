/** Does each check find what it is for? Recorded streams with one thing wrong in each. */
import { assert } from "#assert";
import type { ContainerStatus, Pod, PodCondition } from "../../../lib/api/kubernetes.ts";
import type { ContainerStats, PodStats } from "../../../lib/api/summary.ts";
import { checkPodWatch } from "../../support/embedded/check_pod_watch.ts";
import { checkSummaries } from "../../support/embedded/check_summaries.ts";
import { readSummaries, readWatch } from "../../support/recorded.ts";

type Mutable<T> = T extends readonly (infer E)[] ? Mutable<E>[]
  : T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> }
  : T;

const cadvisor = await readSummaries("summaries_cadvisor");

/** The container `steady/main` of the poll, a copy that may be changed; the switch to cAdvisor was at poll 15. */
const SUMMARY_CASES: Readonly<
  Record<
    string,
    readonly [poll: number, change: (main: Mutable<ContainerStats>, pod: Mutable<PodStats>) => void, found: string]
  >
> = {
  "a time with a fraction": [5, (main) => set(main, "time", "2026-11-20T11:57:02.5Z"), "is not of whole seconds"],
  "cpu and memory of other times": [5, ({ cpu }) => cpu && (cpu.time = "2026-11-20T11:57:02Z"), "cpu is of"],
  "a counter that falls": [9, ({ cpu }) => cpu && (cpu.usageCoreNanoSeconds = 5), "counter falls"],
  "a fraction of a byte": [9, ({ memory }) => memory && (memory.usageBytes = 5e9 + 0.5), "usageBytes is"],
  "more working set than usage": [9, ({ memory }) => memory && (memory.usageBytes = 5), "is more than usage"],
  "a young container that is stale": [7, (main) => set(main, "time", "2026-11-20T11:57:00Z"), "after its start"],
  "an old container that is fresh": [100, (main) => set(main, "time", "2026-11-20T11:58:39Z"), "ms after the last"],
  "a counter that moves without its time": [
    100,
    ({ cpu }) => cpu && (cpu.usageCoreNanoSeconds = (cpu.usageCoreNanoSeconds ?? 0) + 1),
    "without a newer time",
  ],
  "a sample that is too old": [100, (main) => set(main, "time", "2026-11-20T11:58:00Z"), "ms old"],
  "a time ahead": [9, (main) => set(main, "time", "2026-11-20T11:57:20Z"), "ahead"],
  "a pod without containers": [9, (_, pod) => pod.containers = [], "without containers"],
  "a pod's counter that falls": [100, (_, { cpu }) => cpu && (cpu.usageCoreNanoSeconds = 1), "counter falls"],
  "zeros of a container that lives on": [
    9,
    ({ cpu, memory }) => {
      if (cpu) cpu.usageCoreNanoSeconds = 0;
      if (memory) memory.usageBytes = memory.workingSetBytes = 0;
    },
    "back after its zeros",
  ],
};

for (const [name, [poll, change, found]] of Object.entries(SUMMARY_CASES)) {
  Deno.test(`checkSummaries() finds ${name}`, () => {
    const stream = structuredClone(cadvisor) as Mutable<typeof cadvisor>;
    const pod = stream[poll]?.summary.pods?.find(({ podRef }) => podRef?.name === "steady");
    const main = pod?.containers?.find((one) => one.name === "main");
    assert(pod !== undefined && main !== undefined);
    change(main, pod);
    assertFound(checkSummaries(stream, { hasCadvisor: true }), found);
  });
}

Deno.test("checkSummaries() finds cAdvisor's age where everything should be fresh", () => {
  assertFound(checkSummaries(cadvisor, { hasCadvisor: false }), "after its start");
});

/** Changes the status of one event of a recorded watch. */
const WATCH_CASES: Readonly<
  Record<string, readonly [watch: string, event: number, change: (pod: Pod) => void, found: string]>
> = {
  "conditions in another order": ["watch_resizes", 3, ({ status }) => status?.conditions?.reverse(), "has conditions"],
  "a generation from the future": ["watch_resizes", 3, (pod) => status(pod).observedGeneration = 99, "not there yet"],
  "a generation that is forgotten": ["watch_resizes", 3, (pod) => status(pod).observedGeneration = 1, "seen less"],
  "a size that is not enacted": ["watch_resizes", 2, (pod) => main(pod).resources = {}, "as large as its spec"],
  "a condition that moves alone": [
    "watch_resizes",
    2,
    (pod) => condition(pod, "Ready").lastTransitionTime = "2026-11-20T11:31:38Z",
    "moves without a change",
  ],
  "an unknown reason": ["watch_deferred", 1, (pod) => condition(pod, "PodResizePending").reason = "Busy", "Busy"],
  "another message": ["watch_deferred", 1, (pod) => condition(pod, "PodResizePending").message = "no", "Deferred: no"],
  "a limit of the pod without a resize": [
    "watch_oom",
    4,
    (pod) =>
      status(pod).resources = { limits: { cpu: "250m", memory: "256Mi" }, requests: { cpu: "30m", memory: "32Mi" } },
    "without a resize",
  ],
  "a pod's request of memory that moves": [
    "watch_resizes",
    2,
    (pod) => status(pod).resources = { requests: { memory: "96Mi" } },
    "its request of memory",
  ],
  "an error in other words": [
    "watch_memory_below_usage",
    3,
    (pod) => condition(pod, "PodResizeInProgress").message = "cannot decrease memory limits: x",
    "Error: cannot",
  ],
  "a restart that is not counted": ["watch_oom", 1, (pod) => main(pod).restartCount = 0, "0 more restarts"],
  "an end that is forgotten": ["watch_oom", 1, (pod) => main(pod).lastState = {}, "after nothing"],
  "a state that cannot follow": [
    "watch_oom",
    2,
    (pod) => main(pod).state = { waiting: { reason: "CrashLoopBackOff", message: "x" } },
    "goes from running to backOff",
  ],
  "a kill by memory with another code": [
    "watch_oom",
    0,
    (pod) => main(pod).state = { terminated: { exitCode: 1, reason: "OOMKilled" } },
    "ended with 1 OOMKilled",
  ],
  "a pod that comes back": ["watch_lives", 70, (pod) => status(pod).phase = "Pending", "is Pending after"],
  "containers in the order of the spec": [
    "watch_lives",
    20,
    (pod) => status(pod).containerStatuses?.reverse(),
    "tells of",
  ],
};

for (const [name, [watch, event, change, found]] of Object.entries(WATCH_CASES)) {
  Deno.test(`checkPodWatch() finds ${name}`, async () => {
    const stream = structuredClone(await readWatch(watch));
    // Where the pod of that event has what the case changes.
    const at = watch === "watch_lives"
      ? stream.findIndex(({ object }, index) => index >= event / 2 && isFit(object, name))
      : event;
    const pod = stream[at]?.object;
    assert(pod !== undefined);
    change(pod);
    assertFound(checkPodWatch(stream), found);
  });
}

const SLOW: Readonly<Record<string, readonly [watch: string, from: number, ms: number, found: string]>> = {
  "a spec that is not seen for long": ["watch_resizes", 6, 2000, "is not seen for"],
  "a resize without an end or an error": ["watch_memory_below_usage", 2, 30_000, "without an error"],
};

for (const [name, [watch, from, ms, found]] of Object.entries(SLOW)) {
  Deno.test(`checkPodWatch() finds ${name}`, async () => {
    const stream = await readWatch(watch);
    const late = stream.map((event, index) =>
      index < from || event.at === null ? event : { ...event, at: event.at + ms }
    );
    assertFound(checkPodWatch(late), found);
  });
}

function isFit({ status, spec }: Pod, name: string): boolean {
  return name.startsWith("a pod")
    ? status?.phase === "Failed"
    : (spec?.containers.length ?? 0) > 1 && status?.containerStatuses !== undefined;
}

function assertFound(problems: readonly { message: string }[], text: string): void {
  assert(problems.some(({ message }) => message.includes(text)), JSON.stringify(problems.slice(0, 5)));
}

function set(container: Mutable<ContainerStats>, key: "time", value: string): void {
  if (container.cpu) container.cpu[key] = value;
  if (container.memory) container.memory[key] = value;
}

function status(pod: Pod): NonNullable<Pod["status"]> {
  return pod.status ??= {};
}

function main(pod: Pod): ContainerStatus {
  const found = pod.status?.containerStatuses?.[0];
  if (found === undefined) throw new Error("Cannot find a container's status");
  return found;
}

function condition(pod: Pod, type: string): PodCondition {
  const found = pod.status?.conditions?.find((one) => one.type === type);
  if (found === undefined) throw new Error(`Cannot find condition ${type}`);
  return found;
}

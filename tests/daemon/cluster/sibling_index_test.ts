/** Which pods count as siblings of a new one, and what size they have (L40). */
import { assertEquals } from "#assert";
import { SiblingIndex } from "../../../lib/daemon/pods/siblings.ts";
import type { PodFacts, Siblings } from "../../../lib/model/pod.ts";
import { type ContainerState, NEW_POD_STATE, type PodState } from "../../../lib/model/state.ts";
import type { Resources } from "../../../lib/units/resources.ts";
import { container, MI, MINUTE, pod, policy, resizeEntry, SECOND, SIZE, START } from "../../support/builders.ts";

const INHERIT = policy({ newPods: "inherit" });

interface Differs {
  readonly revision?: string | null;
  /** What the template says, and what the pod was resized to. */
  readonly template?: Partial<Resources>;
  readonly cpu?: number;
  readonly ageMs?: number;
}

function member(name: string, { revision = "rs/1", template, cpu, ageMs = 60 * MINUTE }: Differs = {}): PodFacts {
  const spec = { ...SIZE, ...template, ...(cpu !== undefined && { "cpu.requests": cpu }) };
  return pod({
    uid: name,
    name,
    revision,
    containers: [container({ spec, runningAt: START - ageMs })],
    resizes: cpu === undefined ? [] : [resizeEntry("podfit.main", START, { main: ["cpu.requests"] })],
  });
}

const CONTAINER_STATE: ContainerState = {
  instance: null,
  running: null,
  podReady: null,
  readySince: null,
  actual: SIZE,
  countsFrom: 0,
  resizedAt: null,
  raisedAt: null,
  entryAt: null,
  revertedAt: null,
  refusals: {},
  isInherited: false,
  endings: [],
  reflex: null,
  killFloor: null,
};

const states = new Map<string, PodState>();

function index(...pods: readonly PodFacts[]): SiblingIndex {
  const one = new SiblingIndex({ readStanding: (uid) => states.get(uid) ?? null });
  for (const pod of pods) one.put({ pod, autoscalers: [INHERIT] });
  return one;
}

const NEW = member("new", { ageMs: 5 * SECOND });

/** How many pods count, and their median cpu request. */
function inherits(of: SiblingIndex, pod = NEW): readonly [number, number | null] | null {
  const found: Siblings | null = of.find({ pod, autoscalers: [INHERIT] }, { now: START });
  return found?.main === undefined ? null : [found.main.pods, found.main.median["cpu.requests"]];
}

Deno.test("read() gives the median in force of a revision's pods, without the pod itself (L40)", () => {
  const three = [member("a", { cpu: 180 }), member("b", { cpu: 120 }), member("c", { cpu: 170 })];
  assertEquals(inherits(index(NEW, ...three)), [3, 170]);
  assertEquals(inherits(index(NEW, ...three, member("d", { cpu: 190 }))), [4, 170], "of an even number the lower one");
  assertEquals(inherits(index(NEW)), null);
  const late = member("late", { ageMs: 65 * SECOND });
  assertEquals(inherits(index(late, ...three), late), [3, 170]);
});

Deno.test("read() counts no sibling that is new itself, or does not run (L40)", () => {
  const fresh = member("fresh", { ageMs: 59 * SECOND });
  const stopped = { ...member("stopped"), containers: [container({ runningAt: null })] };
  assertEquals(inherits(index(NEW, fresh, stopped, member("a", { cpu: 180 }))), [1, 180]);
  assertEquals(inherits(index(NEW, fresh, stopped)), null);
  assertEquals(inherits(index(NEW, member("old", { ageMs: MINUTE }))), [1, 100], "its template's size has served it");
  assertEquals(inherits(index(NEW, member("young", { ageMs: 10 * SECOND, cpu: 150 }))), [1, 150]);
});

Deno.test("read() counts another revision only where its template was the same (L40)", () => {
  const old = [member("x", { revision: "rs/0" }), member("a", { revision: "rs/0", cpu: 180 })];
  assertEquals(inherits(index(NEW, ...old)), [2, 100]);
  const changed = old.map((one, at) =>
    at === 0 ? member("x", { revision: "rs/0", template: { "memory.limits": 1 } }) : one
  );
  assertEquals(inherits(index(NEW, ...changed)), null);
});

Deno.test("read() knows a revision's template once it has seen a pod that nobody had resized (L40)", () => {
  const resized = member("a", { revision: "rs/0", cpu: 180 });
  assertEquals(inherits(index(NEW, resized)), null, "who knows what it began with");
  assertEquals(inherits(index(NEW, member("b", { revision: "rs/0", cpu: 100 }))), null);
  assertEquals(inherits(index(NEW, member("a", { revision: "rs/0" }), resized)), [1, 180], "it was seen before");
});

Deno.test("read() counts those of the pod's own revision first, and of many siblings a hundred (L40)", () => {
  const many = (revision: string, cpu: number) =>
    Array.from({ length: 150 }, (_, at) => member(`${revision}-${at}`, { revision, cpu }));
  const known = member("rs/0-0", { revision: "rs/0" });
  assertEquals(inherits(index(known, NEW, ...many("rs/0", 110), ...many("rs/1", 190))), [100, 190]);
  // The own revision comes first wherever it stands: before, between and after twenty others.
  for (let place = 0; place <= 20; place++) {
    const others = Array.from({ length: 20 }, (_, at) => [
      member(`old/${at}-0`, { revision: `old/${at}` }),
      ...Array.from({ length: 9 }, (_, one) => member(`old/${at}-${one + 1}`, { revision: `old/${at}`, cpu: 110 })),
    ]);
    const pods = [...others.slice(0, place).flat(), ...many("rs/1", 190), ...others.slice(place).flat()];
    assertEquals(inherits(index(...pods, NEW)), [100, 190], `place ${place}`);
  }
});

Deno.test("read() ends its look after a thousand pods (L40)", () => {
  const fresh = Array.from({ length: 1000 }, (_, at) => member(`fresh-${at}`, { ageMs: SECOND }));
  assertEquals(inherits(index(...fresh, member("a", { cpu: 180 }))), null);
  assertEquals(inherits(index(...fresh.slice(1), member("a", { cpu: 180 }))), [1, 180]);
});

Deno.test("read() gives nothing to a pod without a controller, nor from such pods (L40)", () => {
  const bare = member("bare", { revision: null, ageMs: 5 * SECOND });
  assertEquals(inherits(index(bare, member("a", { revision: null, cpu: 180 })), bare), null);
});

Deno.test("remove() takes a pod out, and with the last one its revision's template (L40)", () => {
  const siblings = index(NEW, member("x", { revision: "rs/0" }));
  siblings.remove("x");
  siblings.put({ pod: member("a", { revision: "rs/0", cpu: 180 }), autoscalers: [INHERIT] });
  assertEquals(inherits(siblings), null);
  siblings.remove("nobody");
});

Deno.test("put() takes a pod out for an autoscaler that inherits no more (L40)", () => {
  const grown = member("a", { cpu: 180 });
  const siblings = index(NEW, grown);
  siblings.put({ pod: grown, autoscalers: [policy({ newPods: "template" })] });
  assertEquals(inherits(siblings), null);
});

Deno.test("read() keeps siblings of different autoscalers apart (L40)", () => {
  const siblings = index(NEW);
  const other = policy({ name: "other", newPods: "inherit" });
  siblings.put({ pod: member("a", { cpu: 180 }), autoscalers: [other] });
  assertEquals(inherits(siblings), null);
});

Deno.test("read() gives the highest floor that a kill has left in a sibling, for as long as that holds (L12, L40)", () => {
  const killed = (bytes: number, until: number): PodState => ({
    ...NEW_POD_STATE,
    containers: { main: { ...CONTAINER_STATE, killFloor: { bytes, until } } },
  });
  states.set("a", killed(300 * MI, START + 1)).set("b", killed(400 * MI, START + 1)).set("c", killed(500 * MI, START));
  const siblings = index(NEW, member("a"), member("b"), member("c"), member("d"));
  assertEquals(siblings.find({ pod: NEW, autoscalers: [INHERIT] }, { now: START })?.main?.floorBytes, 400 * MI);
  states.clear();
});

Deno.test("a pod that is labelled for another revision counts in that one alone, and in none once it has gone (L40)", () => {
  const other = { ...NEW, uid: "other", revision: "rs/2" };
  const of = index(NEW, member("a", { cpu: 180, template: { "cpu.limits": 300 } }));
  of.put({ pod: member("a", { cpu: 180, revision: "rs/2", template: { "cpu.limits": 300 } }), autoscalers: [INHERIT] });
  assertEquals([inherits(of), inherits(of, other)], [null, [1, 180]]);
  of.remove("a");
  assertEquals([inherits(of), inherits(of, other)], [null, null]);
});

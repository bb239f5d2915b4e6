/**
 * For any history of autoscalers, workloads, pods, lists and slices of work, the cache finds what a plain search finds
 * that asks every autoscaler about every pod.
 */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { ClusterCache } from "../../../lib/daemon/cluster/cache.ts";
import type { WorkloadFacts } from "../../../lib/daemon/cluster/facts.ts";
import type { Autoscaler, WorkloadKind } from "../../../lib/model/autoscaler.ts";
import { listContainers, type PodFacts } from "../../../lib/model/pod.ts";
import type { RunQueued } from "../../../lib/runtime/event_loop.ts";
import { matches, parseSelectorText, type Selector } from "../../../lib/units/selector.ts";
import { container, pod, policy } from "../../support/builders.ts";
import { toAutoscalerFacts } from "../../support/status_sources.ts";

function toSelector(text: string): Selector {
  const parsed = parseSelectorText(text, "");
  assert(parsed.ok);
  return parsed.selector;
}

/** Of one container. */
const MOST = 2;

const CONTAINERS = ["main", "aux", "other"];

const namespace = fc.constantFrom("shop", "cart");

/** `null` = of all namespaces. */
const scope = fc.constantFrom("shop", "cart", null);

const selectorText = fc.constantFrom("app=a", "app=b", "app in (a,b)", "!tier", "tier");

const workloadName = fc.record({
  kind: fc.constantFrom<WorkloadKind[]>("deployment", "statefulset"),
  name: fc.constantFrom("web", "api"),
});

/** A workload whose selector cannot be read has none. */
const workload = fc.record({ at: workloadName, selector: fc.option(selectorText) });

const podFields = fc.record({
  labels: fc.constantFrom<Record<string, string>[]>({ app: "a" }, { app: "b" }, { app: "a", tier: "x" }, {}),
  containers: fc.constantFrom(["main"], ["main", "aux"], ["other"]),
  state: fc.constantFrom("running", "running", "running", "finished", "deleting", "pending", "mirror"),
  optedIn: fc.boolean(),
});

const autoscalerFields = fc.record({
  selects: fc.oneof(selectorText, workloadName),
  containerName: fc.constantFrom("main", "aux", "*"),
  excludes: fc.boolean(),
  priority: fc.nat(2),
  paused: fc.boolean(),
  invalid: fc.constantFrom(false, false, false, true),
});

type PodFields = typeof podFields extends fc.Arbitrary<infer T> ? T : never;

/** What a list has of a pod: nothing, the pod as it is known, or a changed one. */
const listed = fc.oneof(fc.constant("absent" as const), fc.constant("same" as const), podFields);

const steps = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("autoscaler" as const),
      namespace,
      index: fc.nat(4),
      fields: autoscalerFields,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("pod" as const), namespace, index: fc.nat(3), fields: podFields }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("workload" as const), namespace, workload }) },
  fc.record({ kind: fc.constantFrom("removeAutoscaler" as const, "removePod" as const), namespace, index: fc.nat(4) }),
  fc.record({ kind: fc.constant("removeWorkload" as const), namespace, at: workloadName }),
  fc.record({
    kind: fc.constant("listPods" as const),
    scope,
    pods: fc.array(listed, { minLength: 8, maxLength: 8 }),
    /** The event loop turns between two pods of the list. */
    turns: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("listWorkloads" as const),
    scope,
    of: fc.constantFrom<WorkloadKind[]>("deployment", "statefulset"),
    selectors: fc.array(fc.option(fc.option(selectorText), { freq: 2 }), { minLength: 4, maxLength: 4 }),
  }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("turn" as const) }) },
);

type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

const ALL_PODS = ["shop", "cart"].flatMap((place) => [0, 1, 2, 3].map((index) => ({ place, index })));

const ALL_WORKLOADS = ["shop", "cart"].flatMap((place) => ["web", "api"].map((name) => ({ place, name })));

/** The cache and the plain tables of the same objects. */
class History {
  readonly cache: ClusterCache;
  readonly #jobs: (() => void)[] = [];
  readonly #autoscalers = new Map<string, Autoscaler>();
  readonly #pods = new Map<string, PodFacts>();
  readonly #workloads = new Map<string, WorkloadFacts>();
  readonly #requiresAnnotation: boolean;
  #version = 0;

  constructor(requiresAnnotation: boolean) {
    this.#requiresAnnotation = requiresAnnotation;
    const compute: RunQueued = (job) => {
      const { promise, resolve } = Promise.withResolvers<never>();
      this.#jobs.push(() => resolve(job() as never));
      return promise;
    };
    this.cache = new ClusterCache({
      requiresAnnotation,
      maxContenders: MOST,
      compute,
      onChanged() {},
      onDropped() {},
      onFailed(_, error) {
        throw error;
      },
    });
  }

  async turn(): Promise<void> {
    this.#jobs.shift()?.();
    for (let hop = 0; hop < 10; hop++) await null;
  }

  async finish(): Promise<void> {
    for (let turn = 0; this.#jobs.length > 0 && turn < 1000; turn++) await this.turn();
  }

  async apply(step: Step): Promise<void> {
    const { cache } = this;
    switch (step.kind) {
      case "turn":
        return await this.turn();
      case "autoscaler": {
        const one = this.#toAutoscaler(step);
        this.#autoscalers.set(one.uid, one);
        const facts = toAutoscalerFacts(one);
        if (step.fields.invalid) this.#autoscalers.delete(one.uid);
        return cache.setAutoscaler(step.fields.invalid ? { ...facts, autoscaler: null } : facts);
      }
      case "removeAutoscaler": {
        const uid = `a-${step.namespace}-${step.index}`;
        this.#autoscalers.delete(uid);
        return cache.removeAutoscaler({ uid, namespace: step.namespace });
      }
      case "pod": {
        const one = this.#toPod(step.namespace, step.index, step.fields);
        this.#pods.set(one.uid, one);
        return cache.setPod(one);
      }
      case "removePod": {
        const uid = toPodUid(step.namespace, step.index);
        this.#pods.delete(uid);
        return cache.removePod({ uid, namespace: step.namespace });
      }
      case "workload": {
        const one = toWorkload(step.namespace, step.workload.at, step.workload.selector);
        this.#workloads.set(toKey(one), one);
        return cache.setWorkload(one);
      }
      case "removeWorkload": {
        const one = toWorkload(step.namespace, step.at, null);
        this.#workloads.delete(toKey(one));
        return cache.removeWorkload(one);
      }
      case "listPods":
        return await this.#listPods(step);
      case "listWorkloads":
        return this.#listWorkloads(step);
    }
  }

  async #listPods({ scope, pods, turns }: Step & { readonly kind: "listPods" }): Promise<void> {
    const all: PodFacts[] = [];
    for (const [at, { place, index }] of ALL_PODS.entries()) {
      if (scope !== null && place !== scope) continue;
      const uid = toPodUid(place, index);
      const [known, next] = [this.#pods.get(uid), pods[at] ?? "absent"];
      const copy = known === undefined ? undefined : { ...known };
      const one = next === "same" ? copy : next === "absent" ? undefined : this.#toPod(place, index, next);
      if (one === undefined) this.#pods.delete(uid);
      else {
        this.#pods.set(uid, one);
        all.push(one);
      }
    }
    for (const _ of this.cache.replacePods(scope, all, 0)) if (turns) await this.turn();
  }

  #listWorkloads({ scope, of, selectors }: Step & { readonly kind: "listWorkloads" }): void {
    const all: WorkloadFacts[] = [];
    for (const [at, { place, name }] of ALL_WORKLOADS.entries()) {
      if (scope !== null && place !== scope) continue;
      const one = toWorkload(place, { kind: of, name }, selectors[at]?.toString() ?? null);
      this.#workloads.delete(toKey(one));
      if (selectors[at] === undefined) continue;
      this.#workloads.set(toKey(one), one);
      all.push(one);
    }
    for (const _ of this.cache.replaceWorkloads({ kind: of, namespace: scope }, all));
  }

  #toAutoscaler({ namespace, index, fields }: Step & { readonly kind: "autoscaler" }): Autoscaler {
    const name = `a-${index}`;
    const uid = `a-${namespace}-${index}`;
    const { selects, containerName, excludes, priority, paused } = fields;
    return policy({
      ...{ namespace, name, uid, key: uid, generation: ++this.#version, containerName, priority, paused },
      isWildcard: containerName === "*",
      excludeContainers: excludes && containerName === "*" ? ["aux"] : [],
      ...(typeof selects === "string"
        ? { target: null, selector: toSelector(selects) }
        : { target: selects, selector: null }),
    });
  }

  #toPod(namespace: string, index: number, { labels, containers, state, optedIn }: PodFields): PodFacts {
    return pod({
      ...{ namespace, name: `pod-${index}`, uid: toPodUid(namespace, index), labels, optedIn },
      resourceVersion: String(++this.#version),
      containers: containers.map((name) => container({ name })),
      finished: state === "finished",
      deleting: state === "deleting",
      mirror: state === "mirror",
      ...(state === "pending" && { nodeName: null }),
    });
  }

  /** Asks every autoscaler about every pod. Clauses: C10, C12. */
  check(): void {
    for (const { place, index } of ALL_PODS) {
      const uid = toPodUid(place, index);
      const one = this.#pods.get(uid);
      const found = this.cache.findTracked(uid);
      const kept = found?.autoscalers.map((own) => `${own.name}/${own.containerName}/${own.generation}`) ?? [];
      assertEquals([...kept].sort(), one === undefined ? [] : this.#expect(one));
      if (found !== null) assertEquals(found.pod.resourceVersion, one?.resourceVersion);
    }
    for (const autoscaler of this.#autoscalers.values()) {
      const pods = autoscaler.paused ? [] : [...this.#pods.values()].filter((one) => this.#selects(autoscaler, one));
      const tracked = pods.filter((one) => listContainers(autoscaler, one).length > 0);
      const resolution = this.cache.resolve(toAutoscalerFacts(autoscaler));
      assertEquals([resolution.matched, resolution.tracked.size], [pods.length, tracked.length]);
    }
  }

  #expect(one: PodFacts): readonly string[] {
    const matching = [...this.#autoscalers.values()].filter((autoscaler) =>
      !autoscaler.paused && this.#selects(autoscaler, one)
    );
    return CONTAINERS.flatMap((name) =>
      matching.filter((autoscaler) => listContainers(autoscaler, one).includes(name))
        .sort((a, b) =>
          b.priority - a.priority || Number(a.isWildcard) - Number(b.isWildcard) || (a.name < b.name ? -1 : 1)
        )
        .slice(0, MOST).map((autoscaler) => `${autoscaler.name}/${name}/${autoscaler.generation}`)
    ).sort();
  }

  #selects({ namespace, target, selector }: Autoscaler, one: PodFacts): boolean {
    const own = target === null ? selector : this.#workloads.get(toKey({ ...target, namespace }))?.selector ?? null;
    const isEligible = one.nodeName !== null && !one.finished && !one.deleting && !one.mirror &&
      (one.optedIn || !this.#requiresAnnotation);
    return isEligible && namespace === one.namespace && own !== null && matches(own, one.labels);
  }
}

function toPodUid(namespace: string, index: number): string {
  return `pod-${namespace}-${index}`;
}

function toKey({ namespace, kind, name }: Pick<WorkloadFacts, "namespace" | "kind" | "name">): string {
  return `${namespace}/${kind}/${name}`;
}

function toWorkload(
  namespace: string,
  { kind, name }: Pick<WorkloadFacts, "kind" | "name">,
  text: string | null,
): WorkloadFacts {
  return { kind, namespace, name, selector: text === null ? null : toSelector(text), problems: [] };
}

Deno.test("any history of autoscalers, targets, pods and lists is matched as a plain search does (C10, C12)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60, size: "max" }), fc.boolean(), async (all, requiresAnnotation) => {
      const history = new History(requiresAnnotation);
      for (const step of all) await history.apply(step);
      history.check();
      await history.finish();
      history.check();
    }),
    { numRuns: 300 },
  );
});

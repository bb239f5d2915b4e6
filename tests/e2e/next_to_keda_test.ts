/**
 * podfit next to KEDA's own operator and metrics adapter, on a real cluster: 20 ScaledObjects, of which podfit scales three.
 * KEDA's values come from a ConfigMap, so the test can set each of them at once.
 */
import { assert, assertEquals } from "#assert";
import { renderRightsText } from "../support/rights.ts";
import { createAccountWith } from "./support/accounts_of_podfit.ts";
import { backend, toCollection } from "./support/backend.ts";
import { applyManifests, find, patchObject, readEvents, waitFor } from "./support/cluster.ts";
import { runCommand } from "./support/commands.ts";
import { startKeda } from "./support/keda.ts";
import { kubectl, kubectlJson } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import type { List, Metadata } from "./support/objects.ts";
import { startPodfit } from "./support/podfit.ts";
import { listWrites, readUsed } from "./support/rights.ts";
import { readReplicas, scaledObject, waitForReplicas, waitForScaled } from "./support/scaled_objects.ts";
import { deployment, type Manifest } from "./support/workloads.ts";

const ADOPTED = ["queue", "formula", "guarded"] as const;

const QUICK = { horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } } };

/** Value of a key of the ConfigMap `numbers`, 10 for each pod. */
function fromMap(key: string, { target = "10", ...more }: { target?: string; name?: string } = {}) {
  const metadata = { resourceKind: "ConfigMap", resourceName: "numbers", key, targetValue: target };
  return { type: "kubernetes-resource", metadata, ...more };
}

/** Starts at 3 replicas, which is what its first value asks for. KEDA measures also what podfit could. */
function toObject(name: string, spec: Manifest): Manifest {
  const common = { minReplicaCount: 0, maxReplicaCount: 6, cooldownPeriod: 15, advanced: QUICK };
  return scaledObject(name, { ...common, ...spec }, { "podfit.dev/metrics": "keda" });
}

const FORMULA = { formula: "a + b", target: "10" };

/** By name. */
const TRIGGERS: Readonly<Record<string, Manifest>> = {
  queue: { triggers: [fromMap("queue")] },
  formula: {
    triggers: [fromMap("a", { name: "a" }), fromMap("b", { name: "b" })],
    advanced: { ...QUICK, scalingModifiers: FORMULA },
  },
  guarded: { triggers: [fromMap("guarded")], minReplicaCount: 1, fallback: { failureThreshold: 50, replicas: 5 } },
  "kedas-formula": {
    triggers: [fromMap("a", { name: "a" }), fromMap("b", { name: "b" })],
    advanced: { ...QUICK, scalingModifiers: FORMULA },
  },
  "kedas-fallback": {
    triggers: [fromMap("kedas")],
    minReplicaCount: 1,
    fallback: { failureThreshold: 50, replicas: 5 },
  },
  ...Object.fromEntries([1, 2, 3].map((number) => [`kedas-workload-${number}`, {
    triggers: [{ type: "kubernetes-workload", metadata: { podSelector: "app=workers", value: "1" } }],
  }])),
  ...Object.fromEntries([1, 2].map((number) => [`kedas-cron-${number}`, {
    triggers: [{
      type: "cron",
      metadata: { timezone: "UTC", start: "0 0 * * *", end: "59 23 * * *", desiredReplicas: "3" },
    }],
  }])),
  ...Object.fromEntries(Array.from({ length: 10 }, (_, number) => [`kedas-${number + 1}`, {
    triggers: [fromMap("kedas")],
  }])),
};

/** All values ask for 3 replicas. */
const FIRST = { queue: "30", a: "20", b: "10", guarded: "30", kedas: "30" };

/** No pod of it starts: who scales needs the number alone. */
function toTarget(name: string): Manifest {
  return deployment(name, {
    replicas: 3,
    containers: [{ requests: { cpu: "1m" } }],
    fields: { schedulerName: "nobody" },
  });
}

interface Versioned {
  readonly metadata: Metadata & { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
}

scenario(
  "podfit scales three of KEDA's 20 objects, whose values KEDA measures (M1, M2, M4, M5, M6, M7, M11, M13, M15)",
  {
    needs: { alone: true, images: "load", keda: true },
    realOnly: "KEDA's own operator and metrics adapter run next to it",
    async run({ namespace }) {
      const names = Object.keys(TRIGGERS);
      assertEquals(names.length, 20);
      await using keda = await startKeda(namespace);
      await applyManifests(namespace, [
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "numbers" }, data: FIRST },
        toTarget("workers"),
        ...names.map(toTarget),
        ...Object.entries(TRIGGERS).map(([name, spec]) => toObject(name, spec)),
      ]);
      const waitForHpas = (wanted: number) =>
        waitFor(`${wanted} HPAs of KEDA`, async () => {
          const { length } = (await kubectlJson<List<Versioned>>(["get", "hpa", "-n", namespace])).items;
          if (length === wanted) return true;
          throw new Error(`there are ${length}`);
        }, { timeoutMs: 120_000, everyMs: 1_000 });
      await waitForHpas(20);

      const set = async (data: Readonly<Record<string, string>>) => {
        await kubectl(["patch", "configmap/numbers", "-n", namespace, "--type=merge", "-p", JSON.stringify({ data })]);
      };
      const read = async (name: string) => {
        const object = await find<Versioned>(`/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/${name}`);
        if (object === null) throw new Error(`ScaledObject "${name}" is not there`);
        return object;
      };
      const wait = (name: string, wanted: number, timeoutMs = 60_000) =>
        waitForReplicas({ namespace, name }, wanted, { timeoutMs });
      /** Resolves to the steps that the command prints, each with the object's name. */
      const run = async (verb: "adopt" | "release", ...objects: readonly string[]) => {
        const args = [verb, ...objects.map((name) => `so/${name}`), "-n", namespace, "--timeout", "60s"];
        const { code, stdout, complaints } = await runCommand(args, { timeoutMs: 300_000 });
        assertEquals([code, complaints], [0, []], stdout);
        return stdout.trimEnd().replaceAll(`${namespace}/`, "").split("\n");
      };
      await using courses = record(namespace);

      const account = { namespace, name: namespace };
      const rights = await renderRightsText({ scaledObjects: { mode: "selected" } });
      await using entry = await createAccountWith(namespace, rights);
      const args = ["--scaled-objects", "selected", ...entry.args];
      await using podfit = await startPodfit({ namespaces: [namespace], args });
      assertEquals(await run("adopt", ...ADOPTED), ADOPTED.flatMap(toAdoptionSteps));
      await waitForHpas(17);
      // Longer than a round of the scaling loop.
      await sleep(20_000);
      assertEquals(courses.of(), { queue: [3], formula: [3], guarded: [3] }, "replicas stay at adoption");

      await set({ queue: "60", a: "30", b: "15", guarded: "20" });
      for (const [name, count] of [["queue", 6], ["formula", 5], ["guarded", 2]] as const) await wait(name, count);
      await set({ queue: "0", a: "0", b: "0" });
      for (const name of ["queue", "formula"]) await wait(name, 0, 90_000);
      await set({ queue: "30", a: "20", b: "10", guarded: "30" });
      for (const name of ADOPTED) await wait(name, 3, 90_000);

      courses.forget();
      await keda.start("operator");
      await sleep(20_000);
      await set({ queue: "40" });
      await wait("queue", 4, 120_000);
      assertEquals(
        courses.of(),
        { queue: [3, 4], formula: [3], guarded: [3] },
        "replicas after KEDA's operator began again",
      );

      courses.forget();
      await keda.stop("adapter");
      await set({ queue: "0", a: "0", b: "0", guarded: "0" });
      await sleep(120_000);
      assertEquals(courses.of(), { queue: [4], formula: [3], guarded: [3] }, "replicas without KEDA's adapter");
      await set({ queue: "40", a: "20", b: "10", guarded: "30" });
      await keda.start("adapter");

      courses.forget();
      const triggers = [fromMap("queue", { target: "20" })];
      await patchObject({ namespace, object: "ScaledObject/queue" }, { spec: { triggers } });
      const stale = { PodfitScaling: { status: "False", reason: "RecordStale" } } as const;
      await waitForScaled({ namespace, name: "queue" }, stale);
      await set({ queue: "0" });
      await sleep(35_000);
      assertEquals(courses.of(["queue"]), { queue: [4] }, "replicas do not fall by a record that does not fit");
      await set({ queue: "80" });
      const [selected = "", ...steps] = toAdoptionSteps("queue");
      const renewed = "queue: its record does not fit its triggers: not paused for KEDA until there is a new one";
      assertEquals(await run("adopt", "queue"), [selected, renewed, ...steps]);
      await set({ queue: "60" });
      await wait("queue", 3, 60_000);

      // KEDA has an HPA also while the target is at zero.
      await set({ a: "0", b: "0" });
      await wait("formula", 0, 90_000);
      courses.forget();
      assertEquals(await run("release", ...ADOPTED), ADOPTED.flatMap(toReleaseSteps));
      await waitForHpas(20);
      // KEDA writes its conditions for some time after a release.
      await sleep(45_000);
      assertEquals(courses.of(), { queue: [3], formula: [0], guarded: [3] }, "replicas stay at release");
      for (const name of ADOPTED) {
        const { status, metadata: { annotations = {} } } = await read(name);
        const types = (status?.conditions ?? []).map(({ type }) => type);
        assertEquals(types.filter((type) => type.startsWith("Podfit")), [], name);
        assert(types.includes("Ready"), `KEDA's conditions of "${name}": ${types}`);
        assertEquals(Object.keys(annotations).filter((key) => key.includes("podfit") || key.includes("keda.sh/")), []);
      }
      await set({ queue: "100", a: "20", b: "10" });
      for (const [name, count] of [["queue", 5], ["formula", 3]] as const) await wait(name, count, 90_000);

      for (const resource of ["scaledobjects", "deployments"]) {
        const writes = await listWrites(account, { namespace, resource });
        const objects = new Set(writes.map((write) => /^\w+ ([^/]*)/.exec(write)?.[1]));
        assertEquals([...objects].sort(), [...ADOPTED].sort(), `podfit writes to ${resource}: ${writes}`);
      }
      assertEquals((await readUsed(account)).forbidden, []);
      for (const name of names.filter((name) => name.startsWith("kedas-"))) {
        const events = await readEvents(namespace, { about: name });
        assertEquals(events.filter(({ metadata: { managedFields } }) => isPodfits(managedFields)), [], name);
        assert(await readReplicas(namespace, name) > 0, name);
      }
      await podfit.stop();
    },
  },
);

function toAdoptionSteps(name: string): readonly string[] {
  return [
    `${name}: selected for podfit (podfit.dev/scale=true)`,
    `${name}: podfit has recorded 1 metric`,
    `${name}: paused for KEDA (autoscaling.keda.sh/paused=true)`,
    `${name}: podfit sets the replicas, and KEDA measures`,
  ];
}

function toReleaseSteps(name: string): readonly string[] {
  return [
    `${name}: not paused for KEDA any more`,
    `${name}: KEDA's HPA "keda-hpa-${name}" is there`,
    `${name}: podfit's annotations are removed: KEDA sets the replicas`,
  ];
}

interface Recorder extends AsyncDisposable {
  /** By name of the target, each number of replicas that it had since `forget()`, without repetitions. */
  readonly of: (names?: readonly string[]) => Readonly<Record<string, readonly number[]>>;
  /** Only the newest number of each stays. */
  readonly forget: () => void;
}

/** Watches each version of the targets, so that no number stays unseen. */
function record(namespace: string): Recorder {
  const courses = new Map<string, number[]>();
  const watching = backend().watch(`${toCollection("Deployment", namespace)}?watch=1`);
  const read = async () => {
    for await (const line of watching.lines) {
      const { object: { metadata: { name }, spec: { replicas } } } = JSON.parse(line) as { readonly object: Versioned };
      const course = courses.get(name) ?? [];
      if (replicas !== undefined && course.at(-1) !== replicas) courses.set(name, [...course, replicas]);
    }
  };
  let problem: unknown = null;
  const reading = read().catch((error: unknown) => problem = error);
  return {
    of(names = ADOPTED) {
      assertEquals(problem, null);
      return Object.fromEntries(names.map((name) => [name, courses.get(name) ?? []]));
    },
    forget() {
      for (const [name, course] of courses) courses.set(name, course.slice(-1));
    },
    async [Symbol.asyncDispose]() {
      await watching[Symbol.asyncDispose]();
      await reading;
    },
  };
}

function isPodfits(fields: Metadata["managedFields"] = []): boolean {
  return fields.some(({ manager }) => manager.startsWith("podfit"));
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The cluster that the scale bench measures in: two processes make the same of it, and each pod has a role. */
import { assert, assertEquals } from "#assert";
import type { Machine } from "../../../lib/embedded/kubelet/machine.ts";
import { parseAutoscaler } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import {
  listAutoscalers,
  listDeployments,
  listNamespaces,
  listPods,
  listScaledObjects,
  readTemplate,
  SETTLED_MS,
  startMachine,
  toRole,
  type World,
} from "./scale_world.ts";

const WORLD: World = { nodes: 40, podsPerNode: 30, startedAt: Date.UTC(2026, 10, 20, 12) };

Deno.test("every autoscaler of the scale bench is valid and has its share of the pods, in its namespace", async () => {
  const template = await readTemplate();
  const autoscalers = listAutoscalers(WORLD);
  assertEquals(autoscalers.length, 12);
  for (const one of autoscalers) assertEquals(parseAutoscaler(one).ok, true);
  const counts = new Map<string, number>();
  const uids = new Set<string>();
  for (let node = 0; node < WORLD.nodes; node++) {
    const machine = startMachine(WORLD, { node, template, now: () => WORLD.startedAt });
    for (const { metadata, spec } of machine.pods) {
      uids.add(metadata?.uid ?? "");
      assertEquals(spec?.nodeName, `node-${node}`);
      const key = `${metadata?.namespace}/${metadata?.labels?.["app"]}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  assertEquals(uids.size, 1200);
  const named = autoscalers.map(({ metadata }) => metadata as { readonly namespace: string; readonly name: string });
  assertEquals(
    Object.fromEntries(counts),
    Object.fromEntries(named.map((one) => [`${one.namespace}/${one.name}`, 100])),
  );
  assertEquals([...new Set(named.map(({ namespace }) => namespace))], listNamespaces(WORLD));
});

Deno.test("a machine of the scale bench has settled, and what its kubelet tells later is of the same containers", async () => {
  const template = await readTemplate();
  const settledAt = WORLD.startedAt + SETTLED_MS;
  let now = settledAt + 3_600_000;
  const told = startMachine(WORLD, { node: 3, template, now: () => settledAt });
  const polled = startMachine(WORLD, { node: 3, template, now: () => now });
  const roles = rolesOf(polled);
  const started = (polled.computeSummary().pods ?? []).map(({ podRef, containers }) => [
    podRef?.uid,
    containers?.[0]?.startTime,
  ]);
  assertEquals(started.length, 30);
  for (const [uid = "", startTime] of started) {
    const status = told.getStatus(uid);
    assertEquals(status?.containerStatuses?.[0]?.state?.running?.startedAt, startTime);
    assertEquals(status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
    assertEquals(polled.getStatus(uid), status);
  }
  const read = () => new Map((polled.computeSummary().pods ?? []).map((pod) => [pod.podRef?.uid, pod.containers?.[0]]));
  const before = read();
  now += 60_000;
  const shares = [...read()].map(([uid, container]) => {
    const [one, other] = [before.get(uid)?.cpu, container?.cpu];
    const ms = Date.parse(other?.time ?? "") - Date.parse(one?.time ?? "");
    const millicores = ((other?.usageCoreNanoSeconds ?? 0) - (one?.usageCoreNanoSeconds ?? 0)) / ms / 1000;
    return { role: roles.get(uid ?? "") ?? "inBand", millicores };
  });
  // After an hour, of a request of 100m or of one that was made smaller: times are whole seconds.
  const expected = { inBand: [38, 76], atBound: [85, 105], inCooldown: [52, 68], wishing: [45, 90], resized: [6, 14] };
  for (const [role, [least = 0, most = 0]] of Object.entries(expected)) {
    const found = shares.filter((share) => share.role === role).map(({ millicores }) => millicores);
    assertEquals(found.length, role === "inBand" ? 10 : 5, role);
    assert(found.every((share) => share > least && share < most), `${role}: ${found}`);
  }
});

Deno.test("some pods of the scale bench are too large for all of three polls, some above their threshold for two at most", async () => {
  let now = WORLD.startedAt + SETTLED_MS;
  const machine = startMachine(WORLD, { node: 3, template: await readTemplate(), now: () => now });
  const roles = rolesOf(machine);
  const runs = new Map<
    string,
    { low: number; high: number; mostLow: number; mostHigh: number; at: string; ns: number }
  >();
  for (let poll = 0; poll < 120; poll++, now += 15_000) {
    for (const { podRef, containers } of machine.computeSummary().pods ?? []) {
      const cpu = containers?.[0]?.cpu;
      const { time: at = "", usageCoreNanoSeconds: ns = 0 } = cpu ?? {};
      const run = runs.get(podRef?.uid ?? "") ?? { low: 0, high: 0, mostLow: 0, mostHigh: 0, at, ns };
      runs.set(podRef?.uid ?? "", run);
      if (at === run.at) continue;
      const millicores = (ns - run.ns) / (Date.parse(at) - Date.parse(run.at)) / 1000;
      run.low = millicores < 20 ? run.low + 1 : 0;
      run.high = millicores > 80 ? run.high + 1 : 0;
      Object.assign(run, {
        mostLow: Math.max(run.mostLow, run.low),
        mostHigh: Math.max(run.mostHigh, run.high),
        at,
        ns,
      });
    }
  }
  for (const [uid, { mostLow, mostHigh }] of runs) {
    const role = roles.get(uid) ?? "inBand";
    assertEquals(mostLow >= 3, role === "resized" || role === "inCooldown", role);
    if (role === "wishing") assert(mostHigh >= 1 && mostHigh <= 2, `${mostHigh}`);
    else assertEquals(mostHigh >= 3, role === "atBound", role);
  }
});

function rolesOf(machine: Machine): ReadonlyMap<string, ReturnType<typeof toRole>> {
  return new Map(machine.pods.map(({ metadata }) => [
    metadata?.uid ?? "",
    toRole(Number(metadata?.name?.split("-").at(-1))),
  ]));
}

Deno.test("each ScaledObject of the scale bench has a Deployment with as many replicas as it has pods", async () => {
  const world = { ...WORLD, nodes: 3, scaledObjects: 7 };
  const template = await readTemplate();
  const pods = listPods(world, template).map(({ metadata }) => metadata?.labels?.["app"]);
  const deployments = listDeployments(world);
  assertEquals(deployments.length, 7);
  for (const { metadata, spec } of deployments) {
    const { name } = metadata as { readonly name: string };
    assertEquals((spec as { replicas: number }).replicas, pods.filter((app) => app === name).length);
  }
  assertEquals(
    listScaledObjects(world).map(({ spec }) => (spec as { scaleTargetRef: { name: string } }).scaleTargetRef.name),
    deployments.map(({ metadata }) => (metadata as { name: string }).name),
  );
  assertEquals(listAutoscalers(world).length, 7);
});

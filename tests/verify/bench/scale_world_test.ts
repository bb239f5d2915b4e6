/** The cluster that the scale bench measures in: two processes make the same of it, and podfit has nothing to resize. */
import { assert, assertEquals } from "#assert";
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
    return ((other?.usageCoreNanoSeconds ?? 0) - (one?.usageCoreNanoSeconds ?? 0)) / ms / 1000;
  });
  // In millicores, of a request of 100: times are whole seconds.
  assertEquals(shares.filter((share) => share > 85).length, 3);
  assertEquals(shares.filter((share) => share < 40).length, 0);
  assert(shares.every((share) => share < 105), shares.join());
});

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

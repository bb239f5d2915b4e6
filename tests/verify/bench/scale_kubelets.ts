/**
 * The process of the hollow kubelets: one address, a port each, the model of a node behind it. They talk to no API
 * server and nothing runs between two requests: a model is moved up to the time at which it is asked.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { ADMIT_ALL, createAnswer } from "../../../lib/embedded/kubelet/kubelet.ts";
import { compressMetrics, RESOURCE_METRICS } from "../../support/embedded/resource_metrics.ts";
import { nodeConfig, readTemplate, startMachine, type World } from "./scale_world.ts";
import { hearMessages, say } from "./scale_worker.ts";

const told = hearMessages();
const { world, cert, key } = (await told.next()).value as { world: World; cert: string; key: string };
const template = await readTemplate();
const now = () => systemClock.now();
const servers = Array.from({ length: world.nodes }, (_, node) => {
  const machine = startMachine(world, { node, template, now });
  const { name } = nodeConfig(node);
  const answer = createAnswer({ name, machine, now, checkAccess: ADMIT_ALL, answers: RESOURCE_METRICS });
  // Not the request itself, whose signal also aborts when all is well.
  const handle = async ({ url, method, headers }: Request) =>
    compressMetrics(await answer(new Request(url, { method, headers })), headers);
  return Deno.serve({ hostname: "127.0.0.1", port: 0, cert, key, onListen() {} }, handle);
});
await say({ ports: servers.map(({ addr }) => addr.port) });
// Until nobody is there.
await told.next();
await Promise.all(servers.map((server) => server.shutdown()));

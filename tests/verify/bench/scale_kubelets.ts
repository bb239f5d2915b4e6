/**
 * The process of the hollow kubelets: one address, a port each, the model of a node behind it. They talk to no API
 * server and nothing runs between two requests: a model is moved up to the time at which it is asked. Told anything more, it
 * says how many readings of podfit came since it was asked last, and how many of them came late.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { ADMIT_ALL, createAnswer } from "../../../lib/embedded/kubelet/kubelet.ts";
import { compressMetrics, RESOURCE_METRICS } from "../../support/embedded/resource_metrics.ts";
import { nodeConfig, POLL_MS, type Punctuality, readTemplate, startMachine, type World } from "./scale_world.ts";
import { hearMessages, say } from "./scale_worker.ts";

const told = hearMessages();
const { world, cert, key } = (await told.next()).value as { world: World; cert: string; key: string };
const template = await readTemplate();
const now = () => systemClock.now();
/** What podfit reads; metrics-server reads another path. */
const SUMMARY = "/stats/summary";
/** More than the interval between two readings of a node by so much is late. */
const LATE_MS = 1000;
let punctuality: Punctuality = { readings: 0, late: 0 };
const servers = Array.from({ length: world.nodes }, (_, node) => {
  const machine = startMachine(world, { node, template, now });
  const { name } = nodeConfig(node);
  const answer = createAnswer({ name, machine, now, checkAccess: ADMIT_ALL, answers: RESOURCE_METRICS });
  let readMs = NaN;
  // Not the request itself, whose signal also aborts when all is well.
  const handle = async ({ url, method, headers }: Request) => {
    if (new URL(url).pathname === SUMMARY) {
      const { readings, late } = punctuality;
      const isLate = systemClock.monotonic() - readMs > POLL_MS + LATE_MS;
      punctuality = { readings: readings + 1, late: late + (isLate ? 1 : 0) };
      readMs = systemClock.monotonic();
    }
    return compressMetrics(await answer(new Request(url, { method, headers })), headers);
  };
  return Deno.serve({ hostname: "127.0.0.1", port: 0, cert, key, onListen() {} }, handle);
});
await say({ ports: servers.map(({ addr }) => addr.port) });
// Until nobody is there.
for await (const _ of told) {
  await say(punctuality);
  punctuality = { readings: 0, late: 0 };
}
await Promise.all(servers.map((server) => server.shutdown()));

/**
 * Two podfits with leader election: the standby watches the cluster and writes nothing until the leader ends, is cut off
 * or is stopped. They never both write, and a pod is resized as by one podfit.
 * Clauses: C55.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { autoscalerObject, type Json } from "../support/api_objects.ts";
import type { Call } from "../support/api_server.ts";
import { Run, type RunOptions } from "../support/daemon_run.ts";
import { getComputeQueue } from "../../lib/runtime/event_loop.ts";
import { settleEventLoop } from "../support/virtual_clock.ts";

const HOUR = 3_600_000;
/** Each sample asks for another step of 10m. */
const CLIMBER = autoscalerObject({
  bounds: { cpu: { requests: { step: "10m" } } },
  policy: { consecutiveSamples: 1, cooldown: "20s" },
});

/** "a" leads, "b" is the standby, on one API server. */
class Pair implements AsyncDisposable {
  readonly a: Run;
  readonly b: Run;
  /** When each accepted resize was sent, s. */
  readonly resizedAt: number[] = [];

  private constructor(options: RunOptions) {
    this.a = new Run({ autoscalers: [CLIMBER], ...options, identity: "a" });
    this.a.use({ "web-1": { cpu: 400 } });
    this.b = new Run({ after: this.a, identity: "b" });
  }

  static async open(options: RunOptions = {}): Promise<Pair> {
    const pair = new Pair(options);
    await pair.advance(3);
    return pair;
  }

  async advance(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      const before = this.a.cpu();
      await this.a.advance(1);
      if (this.a.cpu() !== before) this.resizedAt.push(this.a.clock.monotonic() / 1000);
    }
  }

  /** Seconds until the condition holds. */
  async until(isSo: () => boolean): Promise<number> {
    for (let second = 0; second < 120; second++) {
      if (isSo()) return second;
      await this.advance(1);
    }
    throw new Error("Cannot wait longer: it does not come to pass");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const run of [this.b, this.a]) {
      run.process.resume();
      run.process.isCut = false;
      await run.stop();
    }
  }
}

const isLeading = (run: Run) => run.series("leader_election_master_status")[0]?.endsWith(" 1") === true;
const readsUsage = (run: Run) => run.series("podfit_kubelet_reads_total").length > 0;
const messages = (run: Run, level: string) =>
  run.log.filter((line) => line.level === level).map(({ message }) => String(message));
/** All writes except those of Leases. */
const listWrites = ({ api }: Run): readonly Call[] =>
  api.calls.filter(({ method, path }) => method !== "GET" && !path.includes("/leases"));

/** The shortest time between two resizes. The cooldown is 20 s and is read back in whole seconds. */
function assertCooldown({ resizedAt }: Pair): void {
  const gaps = resizedAt.slice(1).map((at, index) => at - (resizedAt[index] ?? 0));
  assert(gaps.every((gap) => gap >= 19), resizedAt.join());
}

Deno.test("a standby knows the cluster, polls nothing, writes nothing, and is ready (C55)", async () => {
  await using pair = await Pair.open();
  await pair.advance(60);
  const { a, b } = pair;
  assertEquals([isLeading(a), isLeading(b), readsUsage(a), readsUsage(b)], [true, false, true, false]);
  assertEquals(b.daemon.isReady(), { ok: true, message: 'standby: "a" leads', reason: "standby" });
  assertEquals([a.daemon.isReady(), b.daemon.isAlive()], [{ ok: true, message: "ok" }, { ok: true, message: "ok" }]);
  assertEquals(b.series("podfit_api_requests_total").filter((line) => !/verb="(get|watch)"|"leases"/.test(line)), []);
  assertEquals(messages(a, "INFO").filter((message) => /Leading|standby/.test(message)), ["Leading"]);
  assertEquals(messages(b, "INFO").filter((message) => /Leading|standby/.test(message)), ["Waiting as standby"]);
});

Deno.test("gauges of what is looked after are shown by the leader alone, and go with its leadership (C52, C55)", async () => {
  await using pair = await Pair.open();
  await pair.advance(30);
  const names = [
    "kedify_agent_pra_total",
    "kedify_agent_pra_scaling_active",
    "podfit_tracked_pods",
    "podfit_node_pollers",
  ];
  const count = (run: Run) => names.map((name) => run.series(name).length);
  assertEquals([count(pair.a), count(pair.b)], [[1, 1, 1, 1], [0, 0, 0, 0]]);
  pair.a.process.isCut = true;
  await pair.until(() => isLeading(pair.b));
  await pair.advance(5);
  assertEquals([count(pair.a), count(pair.b)], [[0, 0, 0, 0], [1, 1, 1, 1]]);
  const transitions = [pair.a, pair.b].map((run) => run.series("podfit_leader_transitions_total"));
  assertEquals(transitions, [["podfit_leader_transitions_total 1"], ["podfit_leader_transitions_total 1"]]);
});

Deno.test("series of an autoscaler that is deleted go from a podfit that led too (C52, C55)", async () => {
  await using pair = await Pair.open();
  await pair.advance(30);
  pair.a.process.isCut = true;
  await pair.until(() => isLeading(pair.b));
  pair.a.process.isCut = false;
  await pair.advance(10);
  const count = () => pair.a.series("kedify_agent_pra_evaluation_duration_seconds_count").length;
  assertEquals(count(), 1, "what it counted is still so");
  pair.a.api.remove("podresourceautoscalers", "web");
  await pair.advance(2);
  assertEquals(count(), 0);
});

Deno.test("a leader that ends hands over within a retry, and the cooldown runs on (C42, C55)", async () => {
  await using pair = await Pair.open();
  await pair.advance(30);
  await pair.a.stop();
  const waited = await pair.until(() => isLeading(pair.b));
  assert(waited <= 5, `${waited} s`);
  await pair.advance(60);
  assertCooldown(pair);
  assert(pair.resizedAt.length >= 4, pair.resizedAt.join());
  assertEquals(pair.a.log.filter(({ level }) => level === "WARN" || level === "ERROR"), []);
});

Deno.test("a leader that is cut off stops within 10 s, another starts after 15 s, and never both write (C55)", async () => {
  await using pair = await Pair.open();
  await pair.advance(30);
  pair.a.process.isCut = true;
  const stopped = await pair.until(() => !isLeading(pair.a));
  assertEquals(isLeading(pair.b), false);
  assert(stopped <= 11, `${stopped} s`);
  const started = stopped + await pair.until(() => isLeading(pair.b));
  assert(started > 13 && started <= 20, `${started} s`);
  pair.a.process.isCut = false;
  await pair.advance(60);
  assertEquals([isLeading(pair.a), isLeading(pair.b)], [false, true]);
  assertEquals(pair.a.daemon.isReady().message, 'standby: "b" leads');
  assertEquals(messages(pair.a, "WARN").includes("No longer leading"), true);
  assertCooldown(pair);
});

Deno.test("a resize that a leader was about to send when it was stopped is not sent when it wakes (C55)", async () => {
  await using pair = await Pair.open();
  const { a, b } = pair;
  await pair.advance(30);
  a.process.onSend = ({ url }) => {
    if (url.includes("/resize")) a.process.pause();
  };
  await pair.until(() => a.process.isPaused);
  await pair.until(() => isLeading(b));
  await pair.advance(30);
  const [sent, cpu] = [a.resizes.length, a.cpu()];
  a.process.resume();
  await settleEventLoop();
  assertEquals([a.resizes.length, a.cpu()], [sent, cpu]);
  await pair.advance(40);
  assertEquals([isLeading(a), isLeading(b)], [false, true]);
  assertEquals(a.series("kedify_agent_pra_error_total"), [], "what was not sent is no error");
  assertCooldown(pair);
});

Deno.test("a leader that was stopped writes neither statuses nor events when it wakes (C55)", async () => {
  await using pair = await Pair.open();
  const { a, b } = pair;
  await pair.advance(30);
  a.process.pause();
  await pair.until(() => isLeading(b));
  await b.stop();
  const writes = listWrites(a).length;
  a.process.onSend = ({ method, url }) => {
    if (method !== "GET" && !url.includes("/leases") && !isLeading(a)) asked++;
  };
  let asked = 0;
  a.process.resume();
  await settleEventLoop();
  assertEquals([listWrites(a).length, asked], [writes, 0]);
  await pair.advance(30);
  assertEquals(isLeading(a), true, "it leads anew when its time comes");
});

Deno.test("what a leader has under way ends with its leadership, and nothing is written of it afterwards (C55)", async () => {
  await using pair = await Pair.open();
  const { a, b } = pair;
  const aborted: string[] = [];
  a.api.intercept = async ({ path, signal }) => {
    if (!path.endsWith("/resize") || !isLeading(a)) return null;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    aborted.push(path);
    return null;
  };
  await pair.until(() => a.resizes.length > 0);
  a.process.isCut = true;
  await pair.until(() => isLeading(b));
  assertEquals(aborted.length > 0, true);
  assertEquals(isLeading(a), false);
  await pair.advance(40);
  assertCooldown(pair);
});

Deno.test("while the API server hangs nobody leads, and afterwards one does (C55)", async () => {
  await using pair = await Pair.open();
  await pair.advance(30);
  for (const run of [pair.a, pair.b]) run.process.isCut = true;
  await pair.advance(60);
  assertEquals([isLeading(pair.a), isLeading(pair.b)], [false, false]);
  for (const run of [pair.a, pair.b]) run.process.isCut = false;
  await pair.until(() => isLeading(pair.a) || isLeading(pair.b));
  await pair.advance(60);
  assertEquals(Number(isLeading(pair.a)) + Number(isLeading(pair.b)), 1);
  assertCooldown(pair);
});

Deno.test("wall clocks that are set by hours change no leader, and no cooldown is missed (C55)", async () => {
  await using pair = await Pair.open();
  for (const skewMs of [5 * HOUR, -5 * HOUR, 0]) {
    pair.b.process.skewMs = skewMs;
    await pair.advance(30);
    pair.a.process.skewMs = -skewMs;
    await pair.advance(30);
  }
  assertEquals([isLeading(pair.a), isLeading(pair.b)], [true, false]);
  assertCooldown(pair);
});

Deno.test("a Lease that is deleted changes no leader (C55)", async () => {
  await using pair = await Pair.open();
  for (let time = 0; time < 4; time++) {
    await pair.advance(7);
    pair.a.api.remove("leases", "podfit");
  }
  await pair.advance(20);
  assertEquals([isLeading(pair.a), isLeading(pair.b)], [true, false]);
  assertEquals(pair.a.series("podfit_leader_transitions_total"), ["podfit_leader_transitions_total 1"]);
});

Deno.test("a leader renews its Lease however long its queue of work is (C55)", async () => {
  await using pair = await Pair.open();
  const { clock } = pair.a.process;
  const { monotonic, sleep } = { ...clock };
  let spentMs = 0;
  const rest = Promise.withResolvers<void>();
  // A pause is due after the first piece of work, and does not end.
  Object.assign(clock, {
    monotonic: () => monotonic() + spentMs,
    sleep: (ms: number, signal?: AbortSignal) => ms === 0 ? rest.promise : sleep(ms, signal),
  });
  void getComputeQueue(clock)(() => void (spentMs += 5));
  const resized = pair.resizedAt.length;
  await pair.advance(60);
  assertEquals([isLeading(pair.a), isLeading(pair.b)], [true, false]);
  assertEquals(pair.resizedAt.length, resized, "nothing else is done");
  rest.resolve();
});

Deno.test("a new leader waits for two samples of a pod, where one podfit alone goes by one (C55)", async () => {
  const polls = async (options: RunOptions) => {
    await using run = new Run({ autoscalers: [CLIMBER], ...options });
    run.use({ "web-1": { cpu: 400 } });
    for (let second = 0; second < 60; second++) {
      if (run.cpu() !== "100m") return second;
      await run.advance(1);
    }
    return Infinity;
  };
  const [alone, led] = [await polls({}), await polls({ identity: "a" })];
  assertEquals(led - alone, 5, `a poll more: ${led} s, not ${alone} s`);
});

Deno.test("a pod that has come while a podfit leads is not waited for (C55)", async () => {
  await using run = new Run({ autoscalers: [CLIMBER], identity: "a" });
  run.use({ "web-1": { cpu: 400 } });
  await run.advance(30);
  const restartedAt = new Date(run.clock.now()).toISOString();
  run.api.edit("pods", "web-1", ({ status }: Json) => {
    const [one] = status.containerStatuses;
    Object.assign(one, { containerID: "containerd://web-1-again", state: { running: { startedAt: restartedAt } } });
  });
  const before = run.cpu();
  let seconds = 0;
  for (; seconds < 60 && run.cpu() === before; seconds++) await run.advance(1);
  assert(seconds <= 25, `${seconds} s`);
});

Deno.test("a new leader answers an OOM kill before any sample (C55, L11)", async () => {
  const memory = { limits: { scaleUpThreshold: 80, scaleDownThreshold: 0, targetUtilization: 60 } };
  await using pair = await Pair.open({ autoscalers: [autoscalerObject({ policy: { memory, pollInterval: "5m" } })] });
  const { a, b } = pair;
  await pair.advance(10);
  await a.stop();
  await pair.until(() => isLeading(b));
  const terminated = { containerID: "containerd://web-1-main", reason: "OOMKilled", exitCode: 137 };
  const finishedAt = new Date(a.clock.now()).toISOString();
  const change = (status: Json) =>
    a.api.edit("pods", "web-1", (pod: Json) => Object.assign(pod.status.containerStatuses[0], status));
  change({
    containerID: "containerd://web-1-again",
    lastState: { terminated: { ...terminated, finishedAt } },
    state: { running: { startedAt: finishedAt } },
  });
  const before = a.api.get("pods", "web-1").spec.containers[0].resources.limits.memory;
  await pair.advance(1);
  assert(a.api.get("pods", "web-1").spec.containers[0].resources.limits.memory !== before, "it is raised");
});

Deno.test("a podfit without the right to Leases is not ready, names the right, and does nothing (C54, C55)", async () => {
  await using run = new Run({ autoscalers: [CLIMBER], identity: "a" });
  run.api.intercept = ({ path }) =>
    path.includes("/leases")
      ? Response.json({ kind: "Status", code: 403, message: "leases is forbidden" }, { status: 403 })
      : null;
  run.use({ "web-1": { cpu: 400 } });
  await run.advance(120);
  const { ok, message } = run.daemon.isReady();
  assertEquals(ok, false);
  assertStringIncludes(message, 'waiting for the first answer about Lease "shop/podfit": Cannot get Lease');
  assertStringIncludes(message, 'grant get, create and update on leases (coordination.k8s.io) in namespace "shop"');
  assertEquals([listWrites(run), messages(run, "ERROR").length], [[], 2], "told once, and summed up");
  run.api.intercept = () => null;
  await run.advance(30);
  assertEquals([isLeading(run), run.daemon.isReady().ok, run.cpu() !== "100m"], [true, true, true]);
  assert(messages(run, "INFO").includes("Cannot take part in the election of a leader: recovered"));
});

Deno.test("without an election no Lease is asked for, and nothing of it is shown", async () => {
  await using run = new Run({ autoscalers: [CLIMBER] });
  await run.advance(30);
  assertEquals(run.api.calls.filter(({ path }) => path.includes("/leases")), []);
  assertEquals(run.series("leader_election_master_status{"), []);
  assertEquals(run.series("podfit_leader_transitions_total "), []);
});

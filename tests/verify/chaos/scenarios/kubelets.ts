/** Kubelets whose answers are none: what may come over a socket from a node that is broken or hostile. */
import { readMemoryLimit } from "../limited.ts";
import { type PodfitProcess, ProcessWorld, until } from "../process.ts";
import { type Behaviour, toAnswer } from "../raw_kubelet.ts";
import type { Scenario, Stage } from "../stage.ts";

const MIB = 2 ** 20;
const WITHIN_MS = 30_000;

const say = (text: string): Behaviour => (_, write) => write(text);
const head = (status: string, headers = "Content-Length: 0") => say(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n`);

/** Each strikes a node of its own. */
const BAD_ANSWERS: Readonly<Record<string, Behaviour>> = {
  "code-101": head("101 Switching Protocols", "Upgrade: x\r\nConnection: upgrade"),
  "code-204": head("204 No Content"),
  "code-205": head("205 Reset Content"),
  "code-301": head("301 Moved", "Location: https://127.0.0.1:1/\r\nContent-Length: 0"),
  "code-304": head("304 Not Modified"),
  "code-600": head("600 Whatever"),
  "code-999": head("999 Whatever"),
  "code-099": head("099 Low"),
  "early-hints-for-ever": async (_, write) => {
    for (let line = 0; line < 2000; line++) await write("HTTP/1.1 100 Continue\r\n\r\n");
  },
  "reason-with-control": head("200 caf\u00e9\u0001", "Content-Length: 2"),
  "header-with-control": head("200 OK", "x-a: a\u0001b\r\nContent-Length: 2"),
  "header-of-a-megabyte": head("200 OK", `x-a: ${"x".repeat(MIB)}\r\nContent-Length: 2`),
  "another-protocol": say("SSH-2.0-OpenSSH_9.2\r\n"),
  "too-short": say("HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{}"),
  "bad-chunks": say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\nhello\r\n"),
  "no-json": say(toAnswer("<html>")),
  "null": say(toAnswer("null")),
  "nobody": say(toAnswer('{"pods":null}')),
  "silent": () => new Promise(() => {}),
  "closed": (connection) => Promise.resolve(connection.close()),
};

export const BAD_KUBELETS: Scenario = {
  name: "kubelet-answers",
  about: "kubelets answer with what is no answer, their certificates checked and unchecked",
  isShort: false,
  async run(stage) {
    for (const isInsecure of [true, false]) {
      const mode = isInsecure ? "unchecked" : "checked";
      await using world = await ProcessWorld.open({ stage, nodes: Object.keys(BAD_ANSWERS) });
      const podfit = await world.start({ isInsecure });
      await begin(world);
      for (const [node, kubelet] of world.kubelets) kubelet.behaviour = BAD_ANSWERS[node] ?? null;
      await until(() => podfit.code !== null, 8000);
      for (const kubelet of world.kubelets.values()) {
        kubelet.behaviour = null;
        kubelet.drop();
      }
      await noteRecoveries(stage, { world, podfit, toName: (node) => `${node} (${mode})` });
    }
  },
};

export const DROPPED_TLS: Scenario = {
  name: "drop-after-tls",
  about: "kubelets drop each connection as soon as TLS stands",
  isShort: false,
  async run(stage) {
    for (const isInsecure of [true, false]) {
      await using world = await ProcessWorld.open({ stage, nodes: ["node-1", "node-2"] });
      const podfit = await world.start({ isInsecure });
      await begin(world);
      for (const kubelet of world.kubelets.values()) {
        kubelet.dropsAtOnce = true;
        kubelet.drop();
      }
      await until(() => podfit.code !== null, 8000);
      for (const kubelet of world.kubelets.values()) kubelet.dropsAtOnce = false;
      await noteRecoveries(stage, { world, podfit, toName: (node) => `${node} (${isInsecure ? "un" : ""}checked)` });
    }
  },
};

/** Just what a body may have. */
const LARGEST = 8 * MIB - 1024;
const HUGE: Readonly<Record<string, string>> = {
  objects: fill("{},", "{}"),
  arrays: fill("[],", "[]"),
  nested: fill('{"a":{}},', "{}"),
  numbers: fill("1.5,", "1"),
  deep: `{"pods":${"[".repeat(LARGEST - 10)}`,
};
/** Without a bound over all nodes, eight that answer at once are more than podfit may have. */
const HUGE_NODES = Array.from({ length: 9 }, (_, index) => `node-${index}`);
const MOST_BLOCKED_S = 0.5;

export const HUGE_BODIES: Scenario = {
  name: "huge-body",
  about: "eight of nine kubelets answer with 8 MiB of nothing each",
  isShort: false,
  async run(stage) {
    const limitMiB = await readMemoryLimit() / MIB;
    await using world = await ProcessWorld.open({ stage, nodes: HUGE_NODES });
    const podfit = await world.start();
    await begin(world);
    const [, ...hostile] = world.kubelets.values();
    for (const [shape, body] of Object.entries(HUGE)) {
      const answer = toAnswer(body);
      for (const kubelet of hostile) kubelet.behaviour = (_, write) => write(answer);
      const why = await watchCosts(podfit, { forMs: 6000, limitMiB });
      for (const kubelet of hostile) {
        kubelet.behaviour = null;
        kubelet.drop();
      }
      await noteRecoveries(stage, { world, podfit, toName: (node) => `${shape}, seen from ${node}`, why });
    }
  },
};

function fill(unit: string, last: string): string {
  return `{"pods":[${unit.repeat(Math.floor((LARGEST - 20) / unit.length))}${last}]}`;
}

/** What it costs podfit meanwhile; empty where it is within bounds. */
async function watchCosts(
  podfit: PodfitProcess,
  { forMs, limitMiB }: { readonly forMs: number; readonly limitMiB: number },
): Promise<string> {
  let [peakMiB, blockedS] = [0, 0];
  const isOver = await until(async () => {
    peakMiB = Math.max(peakMiB, await podfit.readPeakMiB());
    blockedS = Math.max(blockedS, await podfit.readMetric("podfit_loop_block_seconds") || 0);
    return podfit.code !== null;
  }, forMs);
  if (isOver) return `podfit ended with ${podfit.code}: ${podfit.tail()}`;
  return [
    ...(peakMiB > limitMiB ? [`it held ${Math.round(peakMiB)} MiB`] : []),
    ...(blockedS > MOST_BLOCKED_S ? [`it was blocked for ${blockedS.toFixed(1)} s`] : []),
  ].join("; ");
}

/** Until each pod has its size once. */
export async function begin(world: ProcessWorld): Promise<void> {
  world.shift();
  if (await until(() => world.listUnfit().length === 0, 40_000)) return;
  throw new Error(`Cannot begin: the pods of ${world.listUnfit().join(", ")} are not resized`);
}

/** How one world comes out of its faults. */
export interface Recovery {
  readonly world: ProcessWorld;
  readonly podfit: PodfitProcess;
  readonly toName: (node: string) => string;
  /** What was wrong meanwhile. */
  readonly why?: string;
}

/** A fault for each node: its pod follows its load again, and the process is well. */
export async function noteRecoveries(stage: Stage, { world, podfit, toName, why = "" }: Recovery): Promise<void> {
  const endedMs = performance.now();
  world.shift();
  const after = new Map<string, number>();
  await until(() => {
    const unfit = world.listUnfit();
    for (const node of world.kubelets.keys()) {
      if (!unfit.includes(node) && !after.has(node)) after.set(node, performance.now() - endedMs);
    }
    return unfit.length === 0 || podfit.code !== null;
  }, WITHIN_MS);
  const health = podfit.code === null ? await podfit.ask("/healthz") : 0;
  const own = podfit.code !== null
    ? `podfit has ended with ${podfit.code}: ${podfit.tail()}`
    : health === 200
    ? ""
    : `/healthz answers ${health}`;
  for (const node of world.kubelets.keys()) {
    const recoveredMs = after.get(node) ?? null;
    const text = [why, own, recoveredMs === null ? "its pod does not follow its load" : ""].filter((one) => one !== "");
    stage.note({ name: toName(node), recoveredMs, withinMs: WITHIN_MS, why: text.join("; ") });
  }
}

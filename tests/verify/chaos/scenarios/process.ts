/** What happens to the process itself: its start, its end, its sockets, and what it is trusted and known by. */
import { abortable } from "../../../../lib/runtime/tasks.ts";
import { ADMIN } from "../../../support/embedded/access.ts";
import { createAuthority } from "../../../support/embedded/certificates.ts";
import { serve } from "../../../support/embedded/serve.ts";
import { type PodfitProcess, ProcessWorld, until } from "../process.ts";
import type { Scenario, Stage } from "../stage.ts";
import { begin, noteRecoveries } from "./kubelets.ts";

const NODES = ["node-1", "node-2"];

/** Until the server is closed. */
function hang({ signal }: Request): Promise<never> {
  return abortable(new Promise<never>(() => {}), signal);
}

const START_ERRORS: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {
  "429": () =>
    new Response("Too many requests, please try again later.\n", { status: 429, headers: { "retry-after": "1" } }),
  "500": () => new Response("etcdserver: leader changed", { status: 500 }),
  "503": () => new Response("apiserver not ready", { status: 503, headers: { "retry-after": "1" } }),
  "an empty answer": () => new Response(""),
  "no answer": hang,
};

export const BAD_STARTS: Scenario = {
  name: "start-errors",
  about: "the API server is not ready when podfit starts",
  isShort: false,
  async run(stage) {
    for (const [name, answer] of Object.entries(START_ERRORS)) {
      let isBad = true;
      await using world = await ProcessWorld.open({
        stage,
        nodes: NODES,
        intercept: (request) => isBad ? answer(request) : null,
      });
      const podfit = await world.start();
      const isHealthy = await until(async () => podfit.origin !== null && await podfit.ask("/healthz") === 200, 10_000);
      const isReady = await podfit.ask("/readyz") === 200;
      isBad = false;
      const why = [
        ...(isHealthy ? [] : ["/healthz was not served meanwhile"]),
        ...(isReady ? ["/readyz was ok meanwhile"] : []),
      ];
      await noteRecoveries(stage, { world, podfit, toName: (node) => `${name}, on ${node}`, why: why.join("; ") });
    }
  },
};

/** A pod is given 30 s to end, and podfit takes no more than 12 of them: an answer under way may take ten. */
const END_MS = 15_000;

export const SIGTERMS: Scenario = {
  name: "sigterm",
  about: "SIGTERM comes in each phase: at the start, while the API server hangs, at work, in the middle of writes",
  isShort: false,
  async run(stage) {
    for (const delayMs of [600, 900, 1200, 1600, 2500]) {
      await endIn(stage, `${delayMs} ms after its start`, { delayMs });
    }
    await endIn(stage, "while the API server hangs at the start", { delayMs: 4000, hangs: /./ });
    await endIn(stage, "while lists hang", { delayMs: 5000, hangs: /\/(pods|nodes)$/ });
    await endIn(stage, "at work", { delayMs: 8000 });
    await endIn(stage, "while writes hang", { delayMs: 9000, hangs: /\/(resize|status|events)/ });
  },
};

interface Phase {
  readonly delayMs: number;
  /** Requests with such a path are not answered. */
  readonly hangs?: RegExp;
}

/** Where it has not yet said a word the signal ends the runtime itself, which is no fault of podfit's. */
async function endIn(stage: Stage, name: string, { delayMs, hangs }: Phase): Promise<void> {
  const isHung = (request: Request) => hangs?.test(new URL(request.url).pathname) === true;
  const intercept = (request: Request) => isHung(request) ? hang(request) : null;
  await using world = await ProcessWorld.open({ stage, nodes: NODES, intercept });
  world.shift();
  const podfit = await world.start();
  await until(() => podfit.code !== null, delayMs);
  const wasSilent = podfit.text === "";
  const beganMs = performance.now();
  const why = podfit.code === null ? await podfit.end(END_MS) : `it ended by itself: ${podfit.tail()}`;
  const recoveredMs = performance.now() - beganMs;
  stage.note({ name, recoveredMs, withinMs: END_MS, why: wasSilent && podfit.code !== null ? "" : why });
}

const CONNECTIONS = 400;
/** As `ulimit -n` has it on many machines, as tests do not wait for thousands. */
const MOST_FILES = 256;

export const HALF_OPEN: Scenario = {
  name: "half-open",
  about: "many connections to podfit's own server stay open with half a request",
  isShort: false,
  async run(stage) {
    await using world = await ProcessWorld.open({ stage, nodes: NODES });
    const podfit = await world.start();
    await begin(world);
    await limitFiles(podfit.pid);
    await using clients = await openHalf(podfit);
    await until(() => podfit.code !== null, 5000);
    // Twice what a server may wait for the rest of a request's head.
    const isServed = await until(async () => podfit.code !== null || await podfit.ask("/healthz") === 200, 20_000);
    const isFreed = await until(() => podfit.code !== null || clients.countClosed() >= CONNECTIONS / 2, 20_000);
    const why = [
      ...(isServed ? [] : ["/healthz is not answered meanwhile"]),
      ...(isFreed ? [] : [`${CONNECTIONS - clients.countClosed()} of ${CONNECTIONS} half requests are kept`]),
    ];
    await clients[Symbol.asyncDispose]();
    await noteRecoveries(stage, {
      world,
      podfit,
      toName: (node) => `half requests, seen from ${node}`,
      why: why.join("; "),
    });
  },
};

async function limitFiles(pid: number): Promise<void> {
  await new Deno.Command("prlimit", { args: ["--pid", String(pid), `--nofile=${MOST_FILES}:${MOST_FILES}`] }).output();
}

interface Clients extends AsyncDisposable {
  readonly countClosed: () => number;
}

async function openHalf({ origin }: PodfitProcess): Promise<Clients> {
  const { port } = new URL(origin ?? "");
  const open: Deno.Conn[] = [];
  let closed = 0;
  for (let index = 0; index < CONNECTIONS; index++) {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
      open.push(connection);
      const half = index % 2 === 0 ? "G" : "GET /healthz HTTP/1.1\r\nHost: x\r\n";
      await connection.write(new TextEncoder().encode(half));
      connection.read(new Uint8Array(16)).then((read) => closed += read === null ? 1 : 0, () => closed++);
    } catch {
      closed++;
    }
  }
  return {
    countClosed: () => closed,
    [Symbol.asyncDispose]() {
      for (const connection of open.splice(0)) connection.close();
      return Promise.resolve();
    },
  };
}

export const ROTATED: Scenario = {
  name: "rotation",
  about: "the token that podfit is known by, and the CA that vouches for the API server, are replaced",
  isShort: false,
  async run(stage) {
    const tokens = new Map([["token-1", ADMIN]]);
    await using world = await ProcessWorld.open({ stage, nodes: NODES, tokens });
    const podfit = await world.start();
    await begin(world);
    await Deno.writeTextFile(`${world.directory}/token`, "token-2\n");
    world.cluster.api.access.grant("token-2", ADMIN);
    world.cluster.api.access.revoke("token-1");
    await noteRecoveries(stage, { world, podfit, toName: (node) => `the token, seen from ${node}` });
    await replaceAuthority(world);
    await noteRecoveries(stage, { world, podfit, toName: (node) => `the CA, seen from ${node}` });
    const leaked = ["token-1", "token-2"].filter((token) => podfit.text.includes(token));
    stage.note({
      name: "what the log tells",
      recoveredMs: 0,
      withinMs: 0,
      why: leaked.map((one) => `it has ${one}`).join(),
    });
  },
};

/** The API server is back on its port with a certificate of the new one. */
async function replaceAuthority(world: ProcessWorld): Promise<void> {
  const { port } = world.served;
  const next = await createAuthority("chaos, later");
  await world.served[Symbol.asyncDispose]();
  await Deno.writeTextFile(`${world.directory}/ca.crt`, next.caCert);
  world.authority = next;
  world.served = await serve(world.cluster.api.handle, { authority: next, port });
}

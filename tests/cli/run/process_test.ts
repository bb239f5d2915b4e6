/** Does the process live as long as it should, and end as it should: at its start, on a signal, on a stray error? */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { systemClock } from "../../../lib/runtime/clock.ts";
import {
  type ApiServer,
  findClosedPort,
  type Running,
  serveApi,
  startPodfit,
  startUnreadPodfit,
  writeKubeconfig,
} from "../../support/podfit_process.ts";

const ENABLED = { PRA_ENABLED: "true" };

Deno.test("podfit waits for an API server that is not there yet: alive, not ready, one line for each failure", async () => {
  let isUp = false;
  await using api = serveApi(() => isUp ? listNothing() : new Response("not ready", { status: 503 }));
  await using kubeconfig = await writeKubeconfig(api.origin);
  await using podfit = await startPodfit({ args: ["--kubeconfig", kubeconfig.path], env: ENABLED });
  await until(() => api.asked.length > 0);
  const reason = `${api.origin} answered 503: not ready; try \`kubectl get --raw /readyz\``;
  // The reason names the API server, so the log alone has it.
  assertEquals(await ask(podfit, "/readyz"), { status: 503, text: "not ready: starting\n" });
  assertEquals(await ask(podfit, "/healthz"), { status: 200, text: "ok\n" });
  isUp = true;
  await until(async () => (await ask(podfit, "/readyz")).text !== "not ready: starting\n");
  const { code, complaints, log } = await podfit.end("SIGTERM");
  assertEquals([code, complaints], [0, []]);
  const said = log.filter(({ message }) => message === "Cannot start yet");
  assert(said.length > 0);
  for (const line of said) assertEquals([line.level, line["reason"]], ["WARN", reason]);
  assertEquals(log.filter(({ message }) => message === "Reading usage").length, 1);
});

Deno.test("podfit ends on SIGTERM in each phase of its start, with exit code 0 and soon", async () => {
  await using api = serveApi(() => new Response("not ready", { status: 503 }));
  await using hanging = openHanging();
  const folder = await Deno.makeTempDir();
  const [fifo, pidFile] = [`${folder}/token`, `${folder}/pid`];
  await new Deno.Command("mkfifo", { args: [fifo] }).output();
  const plugin = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "sh",
    args: ["-c", `echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 300`],
    interactiveMode: "Never",
  };
  let writer: Deno.FsFile | null = null;
  type User = Readonly<Record<string, unknown>>;
  const phases: readonly (readonly [name: string, server: string, user: User, isIn: () => Promise<void>])[] = [
    ["reading a token", api.origin, { tokenFile: fifo }, async () => {
      // Resolves when the other end is open for reading.
      writer = await Deno.open(fifo, { write: true });
    }],
    ["in an exec plug-in", api.origin, { exec: plugin }, () => until(() => exists(pidFile))],
    ["asking a server that hangs", hanging.origin, {}, () => until(() => hanging.asked.length > 0)],
    ["waiting for the next try", api.origin, {}, () => until(() => api.asked.length > 0)],
  ];
  await Promise.all(phases.map(async ([name, server, user, isIn]) => {
    await using kubeconfig = await writeKubeconfig(server, { user });
    await using podfit = await startPodfit({
      args: ["--kubeconfig", kubeconfig.path],
      env: ENABLED,
      permissions: "exec",
    });
    await isIn();
    const ending = podfit.end("SIGTERM");
    assertEquals(await isPending(ending, 5_000), false, name);
    const { code, complaints, log } = await ending;
    assertEquals([code, complaints, log.at(-1)?.message], [0, [], "Stopped"], name);
  }));
  const pid = (await Deno.readTextFile(pidFile)).trim();
  await until(async () => !(await new Deno.Command("kill", { args: ["-0", pid], stderr: "null" }).output()).success);
  (writer as Deno.FsFile | null)?.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("podfit ends on SIGTERM though clients have sent half of their requests", async () => {
  await using podfit = await startPodfit({});
  const { hostname, port } = new URL(podfit.origin);
  const clients = await Promise.all(Array.from({ length: 10 }, () => Deno.connect({ hostname, port: Number(port) })));
  for (const client of clients) await client.write(new TextEncoder().encode("GET /metrics HTTP/1.1\r\n"));
  const ending = podfit.end("SIGTERM");
  assertEquals(await isPending(ending, 5_000), false);
  const { code, log } = await ending;
  assertEquals([code, log.at(-1)?.message], [0, "Stopped"]);
  for (const client of clients) client.close();
});

Deno.test("podfit with --leader-elect holds the Lease under a name of its own, and releases it on SIGTERM (C55)", async () => {
  const written: { readonly line: string; readonly spec: Readonly<Record<string, unknown>> }[] = [];
  let version = 0;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (!pathname.includes("/leases")) return listNothing();
    if (request.method === "GET") return new Response("none", { status: 404 });
    const lease = await request.json();
    written.push({ line: `${request.method} ${pathname}`, spec: lease.spec });
    return Response.json({ ...lease, metadata: { ...lease.metadata, resourceVersion: `${++version}`, uid: "u" } });
  });
  await using kubeconfig = await writeKubeconfig(`http://127.0.0.1:${server.addr.port}`);
  const args = ["--kubeconfig", kubeconfig.path, "--leader-elect", "--leader-elect-resource-namespace=ops"];
  await using podfit = await startPodfit({ args, env: { ...ENABLED, HOSTNAME: "podfit-0" } });
  await until(() => written.length > 1);
  const { code, log } = await podfit.end("SIGTERM");
  assertEquals([code, log.filter(({ message }) => message === "Leading").length], [0, 1]);
  const path = "/apis/coordination.k8s.io/v1/namespaces/ops/leases";
  assertEquals(written.slice(0, 2).map(({ line }) => line), [`POST ${path}`, `PUT ${path}/podfit`]);
  assertMatch(String(written[0]?.spec["holderIdentity"]), /^podfit-0_[0-9a-f-]{36}$/);
  assertEquals([written.at(-1)?.spec["holderIdentity"], written.at(-1)?.spec["leaseDurationSeconds"]], ["", 1]);
});

Deno.test("podfit ends with one line of its log and exit code 2 for what nobody has caught", async () => {
  const preload = "tests/support/stray.ts";
  for (const [signal, what] of [["SIGUSR1", "a promise of nobody"], ["SIGUSR2", "a callback of nobody"]] as const) {
    await using podfit = await startPodfit({ preload });
    const { code, complaints, log } = await podfit.end(signal);
    assertEquals([code, complaints], [2, []], what);
    const last = log.at(-1);
    assertEquals(last?.level, "ERROR");
    assertMatch(last?.message ?? "", /^Ending with exit code 2: nothing has caught an? (rejection|exception)$/);
    assertStringIncludes(JSON.stringify(last?.["error"]), what);
    assertStringIncludes(String(last?.["stack"]), "stray.ts");
    assertEquals(log.filter(({ level }) => level === "ERROR").length, 1);
  }
});

Deno.test("podfit lives on, and ends on SIGTERM, though nobody reads its log", async () => {
  const address = `127.0.0.1:${findClosedPort()}`;
  await using podfit = await startUnreadPodfit({ args: ["--listen", address] });
  await until(() =>
    fetch(`http://${address}/healthz`).then(({ body, ok }) => body?.cancel().then(() => ok), () => false)
  );
  const ending = podfit.end("SIGTERM");
  assertEquals(await isPending(ending, 5_000), false);
  assertEquals(await ending, 0);
});

/** An API server that takes requests and answers none. */
function openHanging(): ApiServer {
  const asked: string[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    asked.push(new URL(request.url).pathname);
    await released;
    return new Response();
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    asked,
    async [Symbol.asyncDispose]() {
      release();
      await server.shutdown();
    },
  };
}

function listNothing(): Response {
  return Response.json({ kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [] });
}

async function ask({ origin }: Running, path: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(origin + path);
  return { status: response.status, text: await response.text() };
}

/** Gives up after 10 s. */
async function until(isSo: () => boolean | undefined | Promise<boolean | undefined>): Promise<void> {
  for (let tries = 0; !await isSo(); tries++) {
    if (tries === 200) throw new Error("It is not so after 10 s");
    await systemClock.sleep(50);
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

async function isPending(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const waiting = new AbortController();
  const tooLong = systemClock.sleep(withinMs, waiting.signal).then(() => true, () => true);
  const isPending = await Promise.race([work.then(() => false), tooLong]);
  waiting.abort();
  return isPending;
}

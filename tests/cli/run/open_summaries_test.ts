/** What do kubelets get to see of podfit? Asked of kubelets that listen over TLS and ask their API server about it (C54). */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "#assert";
import { StartError } from "../../../lib/cli/command/process.ts";
import { chooseKubeletCredential, openSummaries } from "../../../lib/cli/run/open_source.ts";
import { createProgram, type RunOptions } from "../../../lib/cli/run/options.ts";
import { ADMIN } from "../../support/embedded/access.ts";
import { connect } from "../../../lib/kube/http_transport.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { openDirectSource, type SummaryAnswer } from "../../../lib/usage/kubelet/fetch_summary.ts";
import type { Json } from "../../support/api_objects.ts";
import { type ServedCluster, serveFullCluster } from "../../support/embedded/full_cluster.ts";
import { readRights } from "../../support/rights.ts";

const NEVER = new AbortController().signal;

Deno.test("C54 in a pod kubelets get tokens of the account that may read usage and nothing else", async () => {
  await using world = await start();
  const { answer, log, credential } = await world.pollAsPod();
  assertEquals(answer.kind, "summary");
  assertEquals([credential, log], ['tokens of service account "podfit/podfit-kubelet"', []]);
});

Deno.test("C54 in a pod without the right to those tokens kubelets get none, and the reading says what to apply", async () => {
  await using world = await start({ without: ["Role", "RoleBinding"] });
  const { answer, log } = await world.pollAsPod();
  assert(answer.kind === "failed" && answer.reason === "unauthorized", JSON.stringify(answer));
  assertMatch(answer.message, /Cannot get a token of service account "podfit\/podfit-kubelet": 403 .*; apply deploy/);
  assertEquals(log, []);
});

Deno.test("C54 in a pod kubelets get podfit's own token only with --kubelet-own-credential", async () => {
  await using world = await start({ without: ["Role", "RoleBinding"] });
  const { answer, credential } = await world.pollAsPod(["--kubelet-own-credential"]);
  assert(answer.kind === "failed" && answer.reason === "forbidden", JSON.stringify(answer));
  assertMatch(
    answer.message,
    /user=system:serviceaccount:podfit:podfit, .*grant that user the verb "get" on "nodes\/stats"/,
  );
  assertEquals(credential, "that of in-cluster");
});

Deno.test("C54 with a kubeconfig kubelets get its credential, or the token of --kubelet-token-file", async () => {
  await using world = await start();
  const own = await world.poll([], world.podfit);
  assert(own.answer.kind === "failed" && own.answer.reason === "forbidden", JSON.stringify(own.answer));
  await using file = await writeToken(world.kubeletToken);
  const given = await world.poll(["--kubelet-token-file", file.path], world.podfit);
  assertEquals(given.answer.kind, "summary");
  assertEquals(given.log, [`INFO Reading usage: the token file "${file.path}"`]);
});

Deno.test("C54 a token file that is replaced counts as soon as a kubelet refuses the token before", async () => {
  await using world = await start();
  await using file = await writeToken("of-another-time");
  const options = await readOptions(["--kubelet-token-file", file.path]);
  using source = await openSummaries(options, { server: world.podfit, log: collectLog().log, clock: systemClock });
  await Deno.writeTextFile(file.path, world.kubeletToken);
  assertEquals((await source.fetchSummary(world.node, NEVER)).kind, "summary");
});

Deno.test("podfit does not start with a token file that is not there", async () => {
  await using world = await start();
  const error = await assertRejects(
    () => world.poll(["--kubelet-token-file", "/nonexistent"], world.podfit),
    StartError,
  );
  assertStringIncludes(error.message, 'Cannot read token file "/nonexistent"');
});

interface Account {
  readonly server: ApiServer;
  readonly token: string;
}

/** A cluster with the rights of deploy/install.yaml but for some kinds, and podfit's account in it. */
async function start({ without = [] }: { readonly without?: readonly string[] } = {}) {
  await using building = new AsyncDisposableStack();
  const cluster = building.use(await serveFullCluster({ clock: systemClock, tokens: new Map([["admin", ADMIN]]) }));
  const manifests = (await readRights()).filter(({ kind }) => !without.includes(kind));
  for (const manifest of manifests) await cluster.client.create(toCollection(manifest), manifest);
  const login = async (name: string): Promise<Account> => {
    const { status }: Json = await cluster.client.create(`/api/v1/namespaces/podfit/serviceaccounts/${name}/token`, {});
    return { token: status.token, server: building.use(await open(cluster, status.token)) };
  };
  const podfit = (await login("podfit")).server;
  const kubeletToken = (await login("podfit-kubelet")).token;
  const { status }: Json = await cluster.client.get("/api/v1/nodes/node-1");
  const { addresses, daemonEndpoints: { kubeletEndpoint: { Port: port } } } = status;
  const node = { name: "node-1", addresses, port, maxPods: 110 };
  async function poll(args: readonly string[], server: ApiServer): Promise<{ answer: SummaryAnswer; log: string[] }> {
    const { log, lines } = collectLog();
    using source = await openSummaries(await readOptions(args), { server, log, clock: systemClock });
    return { answer: await source.fetchSummary(node, NEVER), log: lines };
  }
  /** With the credential that a pod chooses; as a pod would dial no node of its own machine, from outside. */
  async function pollAsPod(args: readonly string[] = []) {
    const { log, lines } = collectLog();
    const server = { ...podfit, source: "in-cluster", namespace: "podfit" };
    const chosen = await chooseKubeletCredential(await readOptions(args), { server, log, clock: systemClock });
    using source = openDirectSource(podfit, { clock: systemClock, getCredential: chosen.readCredential });
    return { answer: await source.fetchSummary(node, NEVER), log: lines, credential: chosen.credential };
  }
  const built = building.move();
  return { podfit, kubeletToken, node, poll, pollAsPod, [Symbol.asyncDispose]: () => built.disposeAsync() };
}

function toCollection({ apiVersion, kind, metadata }: Json): string {
  const group = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
  const inside = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
  return `${group}${inside}/${kind.toLowerCase()}s`;
}

async function open(cluster: ServedCluster, token: string): Promise<ApiServer> {
  const path = await Deno.makeTempFile({ suffix: ".kubeconfig" });
  try {
    await Deno.writeTextFile(path, cluster.kubeconfig(token));
    return await connect({ version: "test", kubeconfigPaths: [path] });
  } finally {
    await Deno.remove(path);
  }
}

async function writeToken(token: string): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempFile({ suffix: ".token" });
  await Deno.writeTextFile(path, token);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path) };
}

async function readOptions(args: readonly string[]): Promise<RunOptions> {
  const read = Promise.withResolvers<RunOptions>();
  const program = createProgram(() => undefined, {
    run: (options) => Promise.resolve(read.resolve(options)),
  }).exitOverride();
  await program.parseAsync(["run", ...args], { from: "user" });
  return await read.promise;
}

/** Level, message and what is said of the credential. */
function collectLog() {
  const lines: string[] = [];
  const write = (line: string) => {
    const { level, message, credential } = JSON.parse(line);
    lines.push(`${level} ${message}${credential === undefined ? "" : `: ${credential}`}`);
  };
  return { lines, log: createLog({ level: "info", format: "json", write }) };
}

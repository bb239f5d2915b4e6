/** The embedded API server over real connections: TLS that clients trust, kubeconfigs, another certificate. */
import { assert, assertEquals, assertMatch } from "#assert";
import { serve, toKubeconfig } from "../../../support/embedded/serve.ts";
import { connect } from "../../../../lib/kube/http_transport.ts";
import { fetchPage, type KubeObject } from "../../../../lib/kube/list.ts";
import { systemClock } from "../../../../lib/runtime/clock.ts";
import { createFullApiServer } from "../../../support/embedded/full_cluster.ts";

function start() {
  return createFullApiServer({ clock: systemClock, random: Math.random });
}

/** Names of the namespaces, by way of a kubeconfig. */
async function listNamespaces(kubeconfig: string): Promise<readonly string[]> {
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, kubeconfig);
  try {
    await using server = await connect({ version: "0.0.0", kubeconfigPaths: [file] });
    const page = await fetchPage(server.transport, null, {
      origin: server.origin,
      path: "/api/v1/namespaces",
      clock: systemClock,
      signal: new AbortController().signal,
      project: ({ metadata }: KubeObject) => metadata.name,
    });
    return page.objects;
  } finally {
    await Deno.remove(file);
  }
}

const NAMESPACES = ["default", "kube-node-lease", "kube-public", "kube-system"];

Deno.test("podfit's client trusts the served cluster by its kubeconfig", async () => {
  await using served = await serve(start().handle);
  assertEquals(await listNamespaces(toKubeconfig(served)), NAMESPACES);
});

Deno.test("a cluster is served over plain HTTP too", async () => {
  await using served = await serve(start().handle, { tls: false });
  assertMatch(served.origin, /^http:/);
  assertEquals(await listNamespaces(toKubeconfig(served)), NAMESPACES);
});

Deno.test("another certificate is trusted when the same authority signed it, and refused otherwise", async () => {
  await using served = await serve(start().handle);
  await served.changeCertificate();
  assertEquals(await listNamespaces(toKubeconfig(served)), NAMESPACES);
  await served.changeCertificate({ isTrusted: false });
  const refusal = await listNamespaces(toKubeconfig(served)).then(() => "", (error) => error.message);
  assertMatch(refusal, /certificate/i);
});

Deno.test("a client that leaves ends its watch, and a server that stops ends the others", async () => {
  const api = start();
  const served = await serve(api.handle, { tls: false });
  const leaving = new AbortController();
  const url = `${served.origin}/api/v1/pods?watch=true`;
  const left = await fetch(url, { signal: leaving.signal });
  const kept = await fetch(url);
  assertEquals(api.faults.openWatches, 2);
  leaving.abort();
  await left.text().catch(() => {});
  for (let tries = 0; tries < 100 && api.faults.openWatches > 1; tries++) await systemClock.sleep(20);
  assertEquals(api.faults.openWatches, 1);
  const ended = kept.text().then(() => "ended", () => "broken");
  await served[Symbol.asyncDispose]();
  assert(["ended", "broken"].includes(await ended));
  assertEquals(api.faults.openWatches, 0);
});

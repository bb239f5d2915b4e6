/** Does the check before a start let pass what can work, refuse what can't, and wait for nobody? */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { checkCluster } from "../../../lib/cli/run/run.ts";
import { StartError } from "../../../lib/cli/command/process.ts";
import { connect } from "../../../lib/kube/http_transport.ts";
import { findClosedPort, serveApi, writeKubeconfig } from "../../support/podfit_process.ts";
import { serveTls } from "../../support/tls.ts";

const PATH = "/apis/keda.kedify.io/v1alpha1";

Deno.test("checkCluster() lets pass a list, and a 403, which heals once the right is granted", async () => {
  for (const answer of [() => Response.json({ items: [] }), () => Response.json({ code: 403 }, { status: 403 })]) {
    await using api = serveApi(answer);
    await using server = await open(api.origin);
    assertEquals(await checkCluster(server, null), null);
    assertEquals(await checkCluster(server, ["a", "b"]), null);
    assertEquals(api.asked, [`${PATH}/podresourceautoscalers`, `${PATH}/namespaces/a/podresourceautoscalers`]);
  }
});

Deno.test("checkCluster() asks for ScaledObjects where replicas are set, and there alone (R1)", async () => {
  let isDefined = false;
  const limits = new Set<string | null>();
  const answer = (request: Request) => {
    limits.add(new URL(request.url).searchParams.get("limit"));
    const isKnown = isDefined || !request.url.includes("keda.sh/");
    return isKnown ? Response.json({ items: [] }) : new Response("no", { status: 404 });
  };
  await using api = serveApi(answer);
  await using server = await open(api.origin);
  assertEquals(await checkCluster(server, null), null);
  const { message } = await assertRejects(() => checkCluster(server, null, { scaledObjects: true }), StartError);
  assertEquals(
    message,
    `Cannot start: ${api.origin} does not know ScaledObjects, which --scaled-objects is about; install them with ` +
      "`kubectl apply --server-side -f crds/scaledobject.yaml -f crds/triggerauthentication.yaml " +
      "-f crds/clustertriggerauthentication.yaml`, or leave --scaled-objects out (or PODFIT_SCALED_OBJECTS)",
  );
  isDefined = true;
  assertEquals(await checkCluster(server, ["a"], { scaledObjects: true }), null);
  assertEquals(api.asked, [
    ...Array(2).fill(`${PATH}/podresourceautoscalers`),
    "/apis/keda.sh/v1alpha1/scaledobjects",
    `${PATH}/namespaces/a/podresourceautoscalers`,
    "/apis/keda.sh/v1alpha1/namespaces/a/scaledobjects",
  ]);
  assertEquals([...limits], ["1"], "one object is enough to see that the kind is there");
});

Deno.test("checkCluster() waits for a server that does not answer as long as it may, and not after its signal", async () => {
  const { promise: never, resolve: release } = Promise.withResolvers<Response>();
  const silent = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => never);
  const origin = `http://127.0.0.1:${silent.addr.port}`;
  {
    await using server = await open(origin);
    const { reason = "" } = await checkCluster(server, null, { timeoutMs: 20 }) ?? {};
    assertStringIncludes(reason, `Cannot reach API server "${origin}": no answer in time; the server is named by `);
    const ending = new AbortController();
    const asked = checkCluster(server, null, { signal: ending.signal });
    ending.abort();
    await assertRejects(() => asked, DOMException, "aborted");
  }
  release(new Response());
  await silent.shutdown();
});

Deno.test("checkCluster() says what is wrong with TLS in one line", async () => {
  await using tls = serveTls(() => new Response());
  await using plain = serveApi(() => new Response());
  const cases: readonly (readonly [origin: string, why: string])[] = [
    [tls.origin, "its certificate is signed by an unknown authority; check certificate-authority of the cluster"],
    [plain.origin.replace("http:", "https:"), "one side speaks http and the other https; check the scheme of server"],
  ];
  for (const [origin, why] of cases) {
    await using server = await open(origin);
    const { message } = await assertRejects(() => checkCluster(server, null), StartError);
    assertStringIncludes(message, `Cannot reach API server "${origin}": ${why}`);
    assertStringIncludes(message, "; the server is named by ");
    assertEquals(message.includes("\n"), false);
  }
});

Deno.test("checkCluster() says what heals by itself, and how long the server asks to wait", async () => {
  const wait = { headers: { "retry-after": "7" } };
  const cases: readonly (readonly [answer: () => Response, reason: string, retryAfterMs: number | null])[] = [
    [() => new Response("Too many requests\n", { status: 429, ...wait }), "answered 429: Too many requests", 7_000],
    [() => new Response("etcdserver: leader changed", { status: 500 }), "answered 500: etcdserver: leader", null],
    [() => new Response("not ready", { status: 503, ...wait }), "answered 503: not ready", 7_000],
    [() => new Response("", { status: 408 }), "answered 408: HTTP 408", null],
  ];
  for (const [answer, reason, retryAfterMs] of cases) {
    await using api = serveApi(answer);
    await using server = await open(api.origin);
    const found = await checkCluster(server, null);
    assertStringIncludes(found?.reason ?? "", `${api.origin} ${reason}`);
    assertEquals(found?.retryAfterMs, retryAfterMs, reason);
  }
  await using closed = await open(`http://127.0.0.1:${findClosedPort()}`);
  const { reason = "" } = await checkCluster(closed, null) ?? {};
  assertStringIncludes(reason, "connection refused; is it running, and is the port right; the server is named by ");
});

Deno.test("checkCluster() refuses an answer that would be the same the next time", async () => {
  for (const status of [302, 400, 401, 404, 410]) {
    await using api = serveApi(() => new Response("no", { status }));
    await using server = await open(api.origin);
    await assertRejects(() => checkCluster(server, null), StartError, "Cannot start: ");
  }
});

Deno.test("checkCluster() repeats what a server says in one line of bounded length", async () => {
  const message = `down\n${String.fromCharCode(27)}[2Jpodfit: all is well ${"x".repeat(5_000)}`;
  await using api = serveApi(() => Response.json({ kind: "Status", message }, { status: 500 }));
  await using server = await open(api.origin);
  const { reason = "" } = await checkCluster(server, null) ?? {};
  assertStringIncludes(reason, "answered 500: down");
  assert(/^[ -~\ufffd]+$/.test(reason) && reason.length < 700, reason);
  assert(reason.endsWith("; try `kubectl get --raw /readyz`"));
});

async function open(origin: string) {
  await using kubeconfig = await writeKubeconfig(origin);
  return await connect({ version: "1", kubeconfigPaths: [kubeconfig.path] });
}

/** Does the check before a start let pass what can work, refuse what can't, and wait for nobody? */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { checkCluster } from "../../../lib/cli/run/check_cluster.ts";
import { StartError } from "../../../lib/cli/run/start_error.ts";
import { connect } from "../../../lib/kube/connect.ts";
import { serveApi, writeKubeconfig } from "../../support/podfit_process.ts";
import { serveTls } from "../../support/tls.ts";

const PATH = "/apis/keda.kedify.io/v1alpha1";

Deno.test("checkCluster() lets pass a list, and a 403, which heals once the right is granted", async () => {
  for (const answer of [() => Response.json({ items: [] }), () => Response.json({ code: 403 }, { status: 403 })]) {
    await using api = serveApi(answer);
    await using server = await open(api.origin);
    await checkCluster(server, null);
    await checkCluster(server, ["a", "b"]);
    assertEquals(api.asked, [`${PATH}/podresourceautoscalers`, `${PATH}/namespaces/a/podresourceautoscalers`]);
  }
});

Deno.test("checkCluster() gives up on a server that does not answer", async () => {
  const { promise: never, resolve: release } = Promise.withResolvers<Response>();
  const silent = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => never);
  const origin = `http://127.0.0.1:${silent.addr.port}`;
  {
    await using server = await open(origin);
    const { message } = await assertRejects(() => checkCluster(server, null, { timeoutMs: 20 }), StartError);
    assertStringIncludes(message, `Cannot reach API server "${origin}": no answer in time; the server is named by `);
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

Deno.test("checkCluster() repeats what a server says in one line of bounded length", async () => {
  const message = `down\n${String.fromCharCode(27)}[2Jpodfit: all is well ${"x".repeat(5_000)}`;
  await using api = serveApi(() => Response.json({ kind: "Status", message }, { status: 500 }));
  await using server = await open(api.origin);
  const error = await assertRejects(() => checkCluster(server, null), StartError);
  assertStringIncludes(error.message, "answered 500: down");
  assert(/^[ -~]+$/.test(error.message) && error.message.length < 700, error.message);
  assert(error.message.endsWith("; try `kubectl get --raw /readyz`"));
});

async function open(origin: string) {
  await using kubeconfig = await writeKubeconfig(origin);
  return await connect({ version: "1", kubeconfigPaths: [kubeconfig.path] });
}

/** How the started program listens: over HTTPS where it has a certificate, and whom it asks about readers. */
import { assertEquals, assertStringIncludes } from "#assert";
import { createTlsClient } from "../../../lib/kube/https.ts";
import { createIssued, mountCertificate } from "../../support/certificate_files.ts";
import { runPodfit, serveApi, startPodfit, writeKubeconfig } from "../../support/podfit_process.ts";

const issued = await createIssued("podfit");

Deno.test("podfit with a certificate speaks HTTPS on every path", async () => {
  await using files = await mountCertificate(issued);
  const args = ["--tls-cert-file", files.certPath, "--tls-private-key-file", files.keyPath];
  await using podfit = await startPodfit({ args });
  using client = createTlsClient({ caCerts: [issued.caCert], certificate: null });
  const origin = podfit.origin.replace("http:", "https:");
  for (const path of ["/", "/healthz", "/readyz", "/metrics"]) {
    const response = await fetch(origin + path, { client });
    assertEquals([path, response.status, (await response.text()).length > 0], [path, 200, true]);
  }
  const { code, log } = await podfit.end("SIGTERM");
  const [listening] = log.filter(({ message }) => message === "Listening");
  assertEquals([code, listening?.scheme, listening?.metricsAuth], [0, "https", false]);
});

Deno.test("podfit does not start with a certificate that it cannot use, and says in one line why", async () => {
  const other = await createIssued("other");
  await using files = await mountCertificate({ cert: issued.cert, key: other.key });
  const { certPath, keyPath } = files;
  const args = ["--tls-cert-file", certPath, "--tls-private-key-file", keyPath];
  const { code, complaints } = await runPodfit({ args: ["run", ...args] });
  assertEquals([code, complaints], [2, [
    `podfit: Cannot use --tls-cert-file "${certPath}" with --tls-private-key-file "${keyPath}": ` +
    "the key is not that of the first certificate",
  ]]);
  const inImage = await runPodfit({ args: ["run", ...args], permissions: "daemon" });
  assertEquals([inImage.code, inImage.complaints], [2, [
    `podfit: Cannot read --tls-cert-file "${certPath}": podfit has no permission to read there; in its image put the ` +
    "file below /etc/podfit",
  ]]);
});

Deno.test("podfit with --metrics-auth asks about readers also where it is disabled, and says that tokens go in clear (C14)", async () => {
  await using server = serveApi(() => new Response("it is down", { status: 500 }));
  await using kubeconfig = await writeKubeconfig(server.origin);
  await using podfit = await startPodfit({ args: ["--kubeconfig", kubeconfig.path, "--metrics-auth"] });
  const ask = async (headers: Readonly<Record<string, string>>) => {
    const response = await fetch(`${podfit.origin}/metrics`, { headers });
    return [response.status, await response.text()];
  };
  assertEquals((await ask({}))[0], 401);
  assertEquals(server.asked, []);
  assertEquals((await fetch(`${podfit.origin}/readyz`).then((response) => response.text())).slice(0, 8), "disabled");
  const down =
    "Cannot check the right of the reader: cannot ask the API server for tokenreviews.authentication.k8s.io: it is down\n";
  const authorization = "Bearer a-token-of-a-reader";
  for (let answer = await ask({ authorization });; answer = await ask({ authorization })) {
    // Until it has read the kubeconfig.
    if (String(answer[1]).includes("no API server is asked yet")) continue;
    assertEquals(answer, [503, down]);
    break;
  }
  assertEquals(new Set(server.asked), new Set(["/apis/authentication.k8s.io/v1/tokenreviews"]));
  const { code, log } = await podfit.end("SIGTERM");
  assertEquals([code, JSON.stringify(log).includes("a-token-of-a-reader")], [0, false]);
  const warnings = log.filter(({ level }) => level === "WARN").map(({ message }) => message);
  assertStringIncludes(warnings[1] ?? "", "send their tokens in clear (--metrics-auth without TLS)");
  assertEquals([warnings.length, warnings[2]], [3, "Cannot check who may read /metrics"]);
});

Deno.test("podfit with --metrics-auth needs an API server, also where it is disabled", async () => {
  const { code, complaints } = await runPodfit({ args: ["run", "--metrics-auth"] });
  assertEquals([code, complaints.length], [2, 1]);
  assertStringIncludes(complaints[0] ?? "", "podfit: Cannot read kubeconfig ");
});

/**
 * Whom podfit trusts, asked of processes whose runtime knows one more authority: it stands for the public ones, of which
 * anybody can have a certificate.
 */
import { assert, assertEquals, assertMatch } from "#assert";
import { readDenoDir, runPodfit, writeKubeconfig } from "../support/podfit_process.ts";
import { serveTls, type TestServer, TLS_DIR } from "../support/tls.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** The authority of the server's certificate, and one that has nothing to do with it. */
const OF_SERVER = `${TLS_DIR}ca.crt`;
const OTHER = `${TLS_DIR}other-ca.crt`;

/** Each way to have the runtime trust the authority of the server. */
const ROOTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  DENO_CERT: { DENO_CERT: OF_SERVER },
  NODE_EXTRA_CA_CERTS: { NODE_EXTRA_CA_CERTS: OF_SERVER },
  "the system's store": { DENO_TLS_CA_STORE: "system", SSL_CERT_FILE: OF_SERVER },
  "the system's store beside Mozilla's": { DENO_TLS_CA_STORE: "mozilla,system", SSL_CERT_FILE: OF_SERVER },
};

interface Probe {
  /** In order, with commas: api, kubelet, public (an API server without a CA), environment, fetch. */
  readonly paths: string;
  readonly caFile?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Asks over each path, and gives each answer. */
async function probe(server: TestServer, { paths, caFile = "", env = {} }: Probe): Promise<readonly string[]> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=test", "tests/support/trust_probe.ts", paths, server.origin, caFile],
    cwd: ROOT,
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "", DENO_DIR: await readDenoDir(), DENO_NO_UPDATE_CHECK: "1", ...env },
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (text === "") throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

for (const [name, env] of Object.entries(ROOTS)) {
  Deno.test(`a server that only ${name} vouches for gets no request, as API server and as kubelet`, async () => {
    let requests = 0;
    await using server = serveTls(() => new Response(`${++requests}`));
    const refused = await probe(server, { paths: "api,kubelet", caFile: OTHER, env });
    assertMatch(refused[0] ?? "", /signed by an unknown authority/);
    assertMatch(refused[1] ?? "", /not signed by the cluster's CA/);
    assertEquals(requests, 0);
    assertEquals(await probe(server, { paths: "api,kubelet", caFile: OF_SERVER, env }), ["1", "ok"]);
    assertEquals(await probe(server, { paths: "public", env }), ["3"]);
  });
}

Deno.test("a kubelet that only the runtime's roots vouch for gets no request also where nothing else was asked before", async () => {
  let requests = 0;
  await using server = serveTls(() => new Response(`${++requests}`));
  const env = { DENO_CERT: OF_SERVER };
  const [refused = ""] = await probe(server, { paths: "kubelet", caFile: OTHER, env });
  assertMatch(refused, /not signed by the cluster's CA/);
  assertEquals(requests, 0);
  const [, late = ""] = await probe(server, { paths: "fetch,kubelet", caFile: OF_SERVER, env });
  assertMatch(late, /trusts public authorities already/);
  assertEquals(requests, 1);
});

Deno.test("a kubelet is asked through the proxy that the environment names for https", async () => {
  using proxy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const lines: string[] = [];
  const serving = (async () => {
    for await (const conn of proxy) {
      const buffer = new Uint8Array(4096);
      const bytes = await conn.read(buffer) ?? 0;
      lines.push(new TextDecoder().decode(buffer.subarray(0, bytes)).split("\r\n", 1)[0] ?? "");
      conn.close();
    }
  })();
  await using server = serveTls(() => new Response("ok"));
  for (const name of ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]) {
    await probe(server, {
      paths: "kubelet",
      caFile: OF_SERVER,
      env: { [name]: `http://127.0.0.1:${proxy.addr.port}` },
    });
  }
  const { host } = new URL(server.origin);
  assertEquals(lines, Array.from({ length: 4 }, () => `CONNECT ${host} HTTP/1.1`));
  const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.addr.port}` };
  assertEquals(await probe(server, { paths: "kubelet", caFile: OF_SERVER, env }), ["ok"]);
  proxy.close();
  await serving.catch(() => {});
});

Deno.test("podfit itself does not start on an API server that only the runtime's roots vouch for", async () => {
  let requests = 0;
  await using server = serveTls(() => new Response(`${++requests}`));
  await using config = await writeKubeconfig(server.origin, { cluster: { "certificate-authority": OTHER } });
  const { complaints } = await runPodfit({
    args: ["run", "--kubeconfig", config.path, "--listen", "127.0.0.1:0"],
    env: { PRA_ENABLED: "true", DENO_CERT: OF_SERVER },
  });
  assertMatch(complaints.join("\n"), /signed by an unknown authority; check certificate-authority/);
  assertEquals(requests, 0);
});

Deno.test("a process that has the public roots already asks no server by a given CA, and says what to do", async () => {
  await using server = serveTls(() => new Response("ok"));
  for (const first of ["public", "fetch"]) {
    const [, api = "", kubelet = ""] = await probe(server, {
      paths: `${first},api,kubelet`,
      caFile: OF_SERVER,
      env: { DENO_CERT: OF_SERVER },
    });
    for (const answer of [api, kubelet]) {
      assert(answer.includes("trusts public authorities already; set certificate-authority"), `${first}: ${answer}`);
    }
  }
});

Deno.test("programs that podfit runs have the roots that they were given", async () => {
  await using server = serveTls(() => new Response("ok"));
  for (const store of ["mozilla", "system"]) {
    const env = { DENO_TLS_CA_STORE: store, NODE_EXTRA_CA_CERTS: OF_SERVER };
    const [, environment] = await probe(server, { paths: "api,environment", caFile: OF_SERVER, env });
    assertEquals(environment, `DENO_TLS_CA_STORE=${store} DENO_CERT=undefined NODE_EXTRA_CA_CERTS=${OF_SERVER}`);
  }
});

Deno.test("a kubelet is trusted by no public root where the API server's configuration names no CA", async () => {
  await using server = serveTls(() => new Response("ok"));
  const answers = await probe(server, { paths: "public,kubelet", env: { DENO_CERT: OF_SERVER } });
  assertEquals(answers[0], "ok");
  assertMatch(answers[1] ?? "", /Cannot trust the given CA alone/);
});

/** What does the program do that was started, without a cluster: disabled, asked for its version or its help? */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { createReplicasOptions, SAFE_REPLICAS_FLAGS } from "../../../lib/cli/connection/api_server.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { runPodfit, serveApi, startPodfit, writeKubeconfig } from "../../support/podfit_process.ts";

Deno.test("podfit --version prints the version of deno.json", async () => {
  const { version } = JSON.parse(await Deno.readTextFile(new URL("../../../deno.json", import.meta.url)));
  for (const args of [["--version"], ["version"]]) {
    const { code, stdout, complaints, log } = await runPodfit({ args });
    assertEquals([code, stdout, complaints, log], [0, `${version}\n`, [], []]);
  }
});

Deno.test("podfit without a command lists the commands in 20 lines of 80 columns, as help and --help do", async () => {
  const bare = await runPodfit({ args: [] });
  assertEquals([bare.code, bare.complaints, bare.log], [0, [], []]);
  const lines = bare.stdout.trimEnd().split("\n");
  assert(lines.length <= 20 && lines.every((line) => line.length <= 80), bare.stdout);
  assertMatch(lines[2] ?? "", /^ {2}run +the daemon/);
  for (const args of [["help"], ["--help"]]) assertEquals((await runPodfit({ args })).stdout, bare.stdout);
});

Deno.test("podfit help COMMAND prints what COMMAND --help prints", async () => {
  for (const name of ["run", "lint"]) {
    const [help, flag] = await Promise.all([[`help`, name], [name, "--help"]].map((args) => runPodfit({ args })));
    assertEquals([help?.code, help?.stdout], [0, flag?.stdout]);
    assertStringIncludes(help?.stdout ?? "", `Usage: podfit ${name} [options]`);
  }
  assertStringIncludes((await runPodfit({ args: ["help", "run"] })).stdout, "PODFIT_NAMESPACE");
});

Deno.test("createReplicasOptions() hands replicas on only where they are asked for, with the rules of the flags (R1, R16)", async () => {
  const shell = { clock: systemClock, send: () => Promise.reject(new Error("asked")) };
  assertEquals(await createReplicasOptions({ ...SAFE_REPLICAS_FLAGS, scaledObjects: "off" }, shell), {});
  const read = async (flags: Partial<typeof SAFE_REPLICAS_FLAGS>) => {
    const { replicas } = await createReplicasOptions({ ...SAFE_REPLICAS_FLAGS, scaledObjects: "all", ...flags }, shell);
    return [replicas?.clusterObjectNamespace, replicas?.credentialRules];
  };
  const safe = { goAnywhere: false, overPlainHttp: false, needLabel: false };
  assertEquals(await read({}), ["podfit-credentials", safe]);
  assertEquals(await read({ clusterObjectNamespace: "ops" }), ["ops", safe]);
  assertEquals((await read({ clusterCredentialsAnywhere: true }))[1], { ...safe, goAnywhere: true });
  assertEquals((await read({ plainHttpCredentials: true }))[1], { ...safe, overPlainHttp: true });
  assertEquals((await read({ requireSecretLabel: true }))[1], { ...safe, needLabel: true });
});

Deno.test("podfit without PRA_ENABLED asks nobody, answers health and metrics and says how to enable (C14)", async () => {
  await using server = serveApi(() => new Response("", { status: 500 }));
  await using kubeconfig = await writeKubeconfig(server.origin);
  for (const env of [{}, { PRA_ENABLED: "false" }]) {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      await using podfit = await startPodfit({ args: ["--kubeconfig", kubeconfig.path], env });
      const answers: (readonly [number, string])[] = [];
      for (const path of ["/healthz", "/readyz", "/metrics"]) {
        const response = await fetch(podfit.origin + path);
        answers.push([response.status, (await response.text()).split("\n")[0] ?? ""]);
      }
      const disabled = [200, "disabled: PRA_ENABLED is not true"] as const;
      assertEquals(answers.slice(0, 2), [disabled, disabled]);
      assertEquals(answers[2]?.[0], 200);
      const { code, stdout, complaints, log } = await podfit.end(signal);
      assertEquals([code, stdout, complaints], [0, "", []]);
      assertEquals(log.map(({ level, message }) => `${level} ${message}`), [
        "INFO Starting",
        "WARN podfit is disabled and does nothing: set PRA_ENABLED=true to enable it",
        "INFO Listening",
        "INFO Stopping",
        "INFO Stopped",
      ]);
    }
  }
  assertEquals(server.asked, []);
});

Deno.test("podfit with the permissions of its image serves, and says where it may read", async () => {
  const permissions = "daemon";
  await using podfit = await startPodfit({ permissions });
  assertEquals((await fetch(`${podfit.origin}/healthz`).then((response) => response.text())).slice(0, 8), "disabled");
  assertEquals((await podfit.end("SIGTERM")).code, 0);
  await using kubeconfig = await writeKubeconfig("http://127.0.0.1:8080");
  const args = ["run", "--kubeconfig", kubeconfig.path];
  const { code, complaints } = await runPodfit({ args, env: { PRA_ENABLED: "true" }, permissions });
  assertEquals([code, complaints], [2, [
    `podfit: Cannot read kubeconfig "${kubeconfig.path}": podfit has no permission to read there; in its image put the ` +
    "file below /etc/podfit",
  ]]);
});

Deno.test("podfit runs an exec plug-in where it was started for one, and says how otherwise", async () => {
  let authorization: string | null = null;
  await using server = serveApi((request) => {
    authorization = request.headers.get("authorization");
    return new Response("", { status: 404 });
  });
  const plugin = await Deno.makeTempFile();
  const credential = { apiVersion: PLUGIN_VERSION, kind: "ExecCredential", status: { token: "a-token-of-a-plug-in" } };
  await Deno.writeTextFile(plugin, `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`);
  await Deno.chmod(plugin, 0o755);
  const user = { exec: { apiVersion: PLUGIN_VERSION, command: plugin, interactiveMode: "Never" } };
  await using kubeconfig = await writeKubeconfig(server.origin, { user });
  const settings = { args: ["run", "--kubeconfig", kubeconfig.path], env: { PRA_ENABLED: "true" } };
  const { code, complaints } = await runPodfit(settings);
  assertEquals([code, complaints, server.asked], [2, [
    `podfit: Cannot get credentials of user "it" from exec plugin "${plugin}": podfit has no permission to run ` +
    "programs; run it as bin/podfit, or with Deno's -P=exec, or use a token file",
  ], []]);
  await runPodfit({ ...settings, permissions: "exec" });
  assertEquals(authorization, "Bearer a-token-of-a-plug-in");
  await Deno.remove(plugin);
});

const PLUGIN_VERSION = "client.authentication.k8s.io/v1";

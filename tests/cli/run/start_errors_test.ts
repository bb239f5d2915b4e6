/** What does an operator read when podfit can't start? One line that says what is wrong and what to do, and code 2. */
import { assertEquals } from "#assert";
import { runPodfit, serveApi, type Settings, writeKubeconfig } from "../../support/podfit_process.ts";

const ENABLED = { PRA_ENABLED: "true" };
const ADDRESS = ["--listen", "127.0.0.1:0"];

Deno.test("podfit says in one line which flag or variable is wrong", async () => {
  const cases: readonly (readonly [complaint: string, Settings])[] = [
    ["unknown option '--namspace' (Did you mean --namespace?); see podfit run --help", {
      args: ["run", "--namspace", "a"],
    }],
    ["option '--listen <address>' argument missing; see podfit run --help", { args: ["run", "--listen"] }],
    ["too many arguments for 'run'. Expected 0 arguments but got 1: web; see podfit run --help", {
      args: ["run", "web"],
    }],
    ["unknown command 'lnit' (Did you mean lint?); see podfit --help", { args: ["lnit"] }],
    ["unknown command 'lnit' (Did you mean lint?); see podfit --help", { args: ["help", "lnit"] }],
    [`'--node' is a flag of the daemon, which is a command now: write "podfit run --node ..."; see podfit --help`, {
      args: ["--node", "a", "--stats-source=cgroup"],
    }],
    [
      `'--dry-run' is a flag of the daemon, which is a command now: write "podfit run --dry-run ..."; see podfit --help`,
      {
        args: ["--dry-run", "lint"],
      },
    ],
    ['Cannot start: PRA_ENABLED is set, and no command is given. The daemon is "podfit run"', {
      args: [],
      env: ENABLED,
    }],
    ['Cannot read --log-level "loud": write debug, info, warn or error', { args: ["run", "--log-level", "loud"] }],
    ['Cannot read PODFIT_DRY_RUN "yes": write true or false', { args: ["run"], env: { PODFIT_DRY_RUN: "yes" } }],
    ['Cannot read PRA_ENABLED "on": write true or false', { args: ["run"], env: { PRA_ENABLED: "on" } }],
  ];
  for (const [complaint, settings] of cases) await assertComplains(settings, complaint);
});

Deno.test("podfit says in one line what is wrong with the kubeconfig", async () => {
  await using kubeconfig = await writeKubeconfig("http://127.0.0.1:8080");
  const where = "name one with --kubeconfig or KUBECONFIG and see `kubectl config get-contexts`";
  const folder = await Deno.makeTempDir();
  const cases: readonly (readonly [complaint: string, args: readonly string[]])[] = [
    [`Cannot read kubeconfig "/nonexistent/config": no such file; ${where}`, ["--kubeconfig", "/nonexistent/config"]],
    [`Cannot read kubeconfig "/nonexistent/.kube/config": no such file; ${where}`, []],
    [`Cannot read kubeconfig "${folder}": Is a directory`, ["--kubeconfig", folder]],
    [
      `Cannot use context "production" of kubeconfig "${kubeconfig.path}": no such context among "it"; ` +
      "see `kubectl config get-contexts`",
      ["--kubeconfig", kubeconfig.path, "--context", "production"],
    ],
  ];
  for (const [complaint, args] of cases) {
    await assertComplains({ args: ["run", ...ADDRESS, ...args], env: ENABLED }, complaint);
  }
  await Deno.remove(folder);
});

Deno.test("podfit says in one line why the API server won't have it", async () => {
  const cases: readonly (readonly [() => Response, (origin: string, path: string) => string])[] = [
    [
      () => new Response("404 page not found\n", { status: 404 }),
      (origin) =>
        `Cannot start: ${origin} does not know PodResourceAutoscalers; install them with ` +
        "`kubectl apply -f crds/podresourceautoscaler.yaml`",
    ],
    [
      () => status(401, "Unauthorized"),
      (origin, path) =>
        `Cannot start: ${origin} does not accept the credentials of ${path} (context "it") (Unauthorized); ` +
        "check them with `kubectl auth whoami`",
    ],
  ];
  for (const [answer, toComplaint] of cases) {
    await using server = serveApi(answer);
    await using kubeconfig = await writeKubeconfig(server.origin);
    const settings = { args: ["run", "--kubeconfig", kubeconfig.path, ...ADDRESS], env: ENABLED };
    await assertComplains(settings, toComplaint(server.origin, kubeconfig.path));
  }
});

Deno.test("podfit shows no token that it was given: not one that no header can hold, nor one that a server repeats", async () => {
  await using server = serveApi(() => status(400, "no way with Bearer s3cret-token"));
  const advice = "write the token alone, on one line";
  const cases: readonly (readonly [user: Readonly<Record<string, string>>, complaint: string])[] = [
    [
      { token: "s3cret-token\nof two lines" },
      "Cannot use the token of the kubeconfig: it has a space, a line break or another character that no header can " +
      `hold within the token; ${advice}`,
    ],
    [
      { token: "s3cret-token" },
      `Cannot start: ${server.origin} answered 400: no way with Bearer ***; try \`kubectl get --raw /readyz\``,
    ],
  ];
  for (const [user, complaint] of cases) {
    await using kubeconfig = await writeKubeconfig(server.origin, { user });
    await assertComplains({ args: ["run", "--kubeconfig", kubeconfig.path], env: ENABLED }, complaint);
  }
});

Deno.test("podfit says in one line what is wrong with --kubelet-ca", async () => {
  await using server = serveApi(listNothing);
  await using kubeconfig = await writeKubeconfig(server.origin);
  const cases: readonly (readonly [complaint: string, path: string])[] = [
    ['Cannot read --kubelet-ca "/nonexistent/ca.crt": No such file or directory', "/nonexistent/ca.crt"],
    [`Cannot use --kubelet-ca "${kubeconfig.path}": it holds no PEM block (-----BEGIN ...)`, kubeconfig.path],
  ];
  for (const [complaint, path] of cases) {
    const args = ["run", "--kubeconfig", kubeconfig.path, "--kubelet-ca", path, ...ADDRESS];
    await assertComplains({ args, env: ENABLED }, complaint);
  }
});

Deno.test("podfit says in one line that its address is in use, enabled or not", async () => {
  await using server = serveApi(listNothing);
  await using kubeconfig = await writeKubeconfig(server.origin);
  const address = server.origin.replace("http://", "");
  const args = ["run", "--kubeconfig", kubeconfig.path, "--listen", address];
  const complaint = `Cannot listen on "${address}": the address is in use; choose another with --listen`;
  for (const env of [ENABLED, {}]) await assertComplains({ args, env }, complaint);
});

async function assertComplains(settings: Settings, complaint: string): Promise<void> {
  const { code, complaints, stdout, log } = await runPodfit(settings);
  assertEquals(complaints, [`podfit: ${complaint}`]);
  assertEquals([code, stdout], [2, ""]);
  assertEquals(log.filter(({ level }) => level === "ERROR"), []);
}

function status(code: number, message: string): Response {
  return Response.json({ kind: "Status", apiVersion: "v1", status: "Failure", message, code }, { status: code });
}

function listNothing(): Response {
  const metadata = { resourceVersion: "1" };
  return Response.json({
    kind: "PodResourceAutoscalerList",
    apiVersion: "keda.kedify.io/v1alpha1",
    metadata,
    items: [],
  });
}

/** Do shells complete the names of pods, workloads, scalers and namespaces, and never wait long for a cluster? */
import { assert, assertEquals } from "#assert";
import { completeNames } from "../../../lib/cli/completion/completion.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import { autoscaler, deployment, pod } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { completeInBash, completeInFish, completeInZsh, readProgram, runShell } from "../../support/completions.ts";
import { serveFullCluster } from "../../support/embedded/full_cluster.ts";
import { shellTest } from "../../support/needs_shell.ts";
import { scaledObject } from "../../support/replicas_run.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const WEB = autoscaler("web-size", {
  target: { kind: "deployment", name: "web" },
  containerName: "main",
  profile: "balanced",
});

const POD = { ...pod("worker-0", { containers: [{}] }) };

async function startCluster(): Promise<ClusterRun> {
  const run = await ClusterRun.start();
  await run.defineKeda();
  const containers = [{ requests: { cpu: "100m" } }];
  await run.create(
    deployment("web", { replicas: 0, containers }),
    pod("worker-0", { containers }),
    scaledObject("orders", [{ type: "cpu", metricType: "Utilization", metadata: { value: "50" } }], {
      spec: { minReplicaCount: 1 },
    }),
    { ...WEB, metadata: { name: "web-size" } },
  );
  await run.cluster.client.create("/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "shop" },
  });
  return run;
}

const CONTEXTS = ["prod", "kind-shop", "arn:aws:eks:eu-west-1:1:cluster/shop", "my laptop", "$(reboot)", "-n"];

/** The names, and what was asked of the server. */
async function complete(line: string, server: Pick<ApiServer, "origin" | "transport" | "namespace">) {
  const asked: string[] = [];
  const places: Json[] = [];
  const found = await completeNames(line.split(" ").slice(1), {
    program: readProgram(),
    clock: systemClock,
    listContexts(paths) {
      asked.push(`contexts of ${paths.join(" ")}`);
      return Promise.resolve(CONTEXTS);
    },
    connect(place) {
      places.push([place.kubeconfigPaths, place.context]);
      const transport: ApiServer["transport"] = (request, options) => {
        asked.push(`${request.method} ${new URL(request.url).pathname}`);
        return server.transport(request, options);
      };
      const { origin, namespace } = server;
      return Promise.resolve({ origin, namespace, transport, [Symbol.asyncDispose]: () => Promise.resolve() });
    },
  });
  return { found, asked, places };
}

const KIND_WORDS = ["daemonset/", "deployment/", "pod/", "podresourceautoscaler/", "scaledobject/", "statefulset/"];

Deno.test("names are those of the kinds that the command takes, with a kind before a slash or in a word of its own", async () => {
  await using run = await startCluster();
  const server = run.cluster.connect();
  const lines: readonly (readonly [line: string, words: readonly string[]])[] = [
    ["podfit explain ", [...KIND_WORDS, "orders", "web", "web-size", "worker-0"].toSorted()],
    ["podfit explain w", ["web", "web-size", "worker-0"]],
    ["podfit explain dep", ["deployment/"]],
    ["podfit explain deploy/", ["deploy/web"]],
    ["podfit explain pra/", ["pra/web-size"]],
    ["podfit explain deploy w", ["web"]],
    ["podfit explain nothing/", []],
    ["podfit explain -", []],
    ["podfit record wo", ["worker-0"]],
    ["podfit record so/", ["so/orders"]],
    ["podfit record deploy/", []],
    ["podfit adopt ", ["orders", "scaledobject/"]],
    ["podfit release so o", ["orders"]],
    ["podfit adopt so/orders so/", ["so/orders"]],
    ["podfit suggest deployment/", ["deployment/web"]],
    ["podfit explain -n ", ["default", "kube-node-lease", "kube-public", "kube-system", "shop"]],
    ["podfit lint --namespace=sh", ["shop"]],
    ["podfit top --podfit-namespace sh", ["shop"]],
    ["podfit run --namespace sh", ["shop"]],
    ["podfit explain --context ", ["arn:aws:eks:eu-west-1:1:cluster/shop", "kind-shop", "prod"]],
    ["podfit run --context=k", ["kind-shop"]],
    ["podfit top --context arn:aws:e", ["arn:aws:eks:eu-west-1:1:cluster/shop"]],
    ["podfit explain -n shop ", KIND_WORDS],
    ["podfit explain -n default -o json w", ["web", "web-size", "worker-0"]],
    ["podfit explain --url http://127.0.0.1:8081 w", []],
    ["podfit lint w", []],
    ["podfit bogus w", []],
    ["podfit", []],
  ];
  for (const [line, words] of lines) assertEquals((await complete(line, server)).found, words, line);
});

Deno.test("names are asked for only where some fit, in the namespace and the cluster of the line", async () => {
  await using run = await startCluster();
  const server = run.cluster.connect();
  const deployments = await complete(
    "podfit explain --context one --kubeconfig a --kubeconfig=b -n shop deploy/w",
    server,
  );
  assertEquals([deployments.asked, deployments.places], [
    ["GET /apis/apps/v1/namespaces/shop/deployments"],
    [[["a", "b"], "one"]],
  ]);
  assertEquals((await complete("podfit explain -n", server)).asked, []);
  assertEquals((await complete("podfit lint ", server)).asked, []);
  assertEquals((await complete("podfit explain -n ", server)).asked, ["GET /api/v1/namespaces"]);
  assertEquals((await complete("podfit explain --kubeconfig a --context ", server)).asked, ["contexts of a"]);
});

Deno.test("a kind that may not be read has no names, and a server that fails has none at all", async () => {
  const refuse = (status: number) => ({
    origin: "http://127.0.0.1",
    namespace: "default",
    transport: (request: Request) => {
      const items = [{ metadata: { name: "web-0", uid: "1" } }];
      if (status === 403 && request.url.includes("/pods")) {
        return Promise.resolve(Response.json({ kind: "PodList", metadata: { resourceVersion: "1" }, items }));
      }
      return Promise.resolve(Response.json({ kind: "Status", code: status, message: "no" }, { status }));
    },
  });
  assertEquals((await complete("podfit explain w", refuse(403))).found, ["web-0"]);
  assertEquals((await complete("podfit explain w", refuse(500))).found, []);
});

Deno.test("a name that Kubernetes would not accept does not reach the shell", async () => {
  const names = ["web", "$(reboot)", "a b", "web;reboot", "\u001b[2J", "web\nx"];
  const items = names.map((name) => ({ metadata: { name, uid: name } }));
  const server = {
    origin: "http://127.0.0.1",
    namespace: "default",
    transport: () => Promise.resolve(Response.json({ kind: "PodList", metadata: { resourceVersion: "1" }, items })),
  };
  assertEquals((await complete("podfit explain pod/", server)).found, ["pod/web"]);
});

Deno.test("a cluster that does not answer is given up after 1.5 s, and what was found before is offered", async () => {
  const clock = new VirtualClock();
  const aborted: string[] = [];
  const server = {
    origin: "http://127.0.0.1",
    namespace: "default",
    [Symbol.asyncDispose]: () => Promise.resolve(),
    transport: (request: Request) =>
      request.url.includes("/deployments")
        ? Promise.resolve(Response.json({
          kind: "DeploymentList",
          metadata: { resourceVersion: "1" },
          items: [{ metadata: { name: "web", uid: "1" } }],
        }))
        : new Promise<Response>((_, reject) =>
          request.signal.addEventListener("abort", () => {
            aborted.push(new URL(request.url).pathname);
            reject(request.signal.reason);
          })
        ),
  };
  let found: readonly string[] | null = null;
  const done = completeNames(["explain", "w"], {
    program: readProgram(),
    clock,
    connect: () => Promise.resolve(server),
    listContexts: () => Promise.resolve([]),
  })
    .then((words) => found = words);
  await clock.advance(1_499);
  assertEquals(found, null);
  await clock.advance(1);
  await done;
  assertEquals([found, aborted.length], [["web"], 5]);
  // Also while the credential is still waited for.
  found = null;
  const opening = completeNames(["explain", "w"], {
    program: readProgram(),
    clock,
    connect: () => new Promise(() => {}),
    listContexts: () => Promise.resolve([]),
  })
    .then((words) => found = words);
  await clock.advance(1_500);
  await opening;
  assertEquals(found, []);
});

/** As `aws eks update-kubeconfig` names it. */
const EKS_CONTEXT = "arn:aws:eks:eu-west-1:1234:cluster/shop";

/** A folder with `podfit` for a shell's PATH, and the kubeconfig of a cluster that has one pod and namespace `shop`. */
async function withPodfit(work: (env: Readonly<Record<string, string>>) => Promise<void>): Promise<void> {
  await using cluster = await serveFullCluster({ clock: systemClock });
  const metadata = { name: "shop" };
  await cluster.client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  await cluster.client.create("/api/v1/namespaces/default/pods", structuredClone(POD) as never);
  const folder = await Deno.makeTempDir();
  const root = new URL("../../../", import.meta.url).pathname;
  try {
    const contexts = ["shop", EKS_CONTEXT].map((name) => ({ name, context: { cluster: "one", user: "one" } }));
    const others = { apiVersion: "v1", kind: "Config", contexts };
    await Deno.writeTextFile(`${folder}/config`, cluster.kubeconfig());
    await Deno.writeTextFile(`${folder}/others`, JSON.stringify(others));
    const run = `cd '${root}' && exec '${Deno.execPath()}' run --quiet -P=start main.ts "$@"`;
    await Deno.writeTextFile(`${folder}/podfit`, `#!/bin/sh\n${run}\n`, { mode: 0o755 });
    await work({
      PATH: `${folder}:${Deno.env.get("PATH")}`,
      KUBECONFIG: `${folder}/config:${folder}/others`,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
      DENO_NO_UPDATE_CHECK: "1",
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const shell of ["bash", "zsh", "fish"] as const) {
  const ask = { bash: completeInBash, zsh: completeInZsh, fish: completeInFish }[shell];
  await shellTest(shell, `${shell} completes names of the cluster, and says nothing where there is none`, async () => {
    await withPodfit(async (env) => {
      const lines = [
        "podfit explain wo",
        "podfit explain pod/w",
        "podfit top -n sh",
        "podfit top --namespace=sh",
        "podfit top --context sh",
        "podfit top --context=ar",
        "podfit top --context arn:aws:e",
      ];
      const found = await ask(lines, env);
      assertEquals(lines.map((line) => found[line]?.map((word) => word.replace(/^--\w+=/, ""))), [
        ["worker-0"],
        ["pod/worker-0"],
        ["shop"],
        ["shop"],
        ["shop"],
        [EKS_CONTEXT],
        // bash replaces what follows the last colon.
        [shell === "bash" ? "eks:eu-west-1:1234:cluster/shop" : EKS_CONTEXT],
      ]);
      // runShell() fails where anything comes to stderr.
      const dead = await ask(["podfit explain wo"], { ...env, KUBECONFIG: "/nowhere/config" });
      assertEquals(dead["podfit explain wo"], []);
    });
  });
}

await shellTest("bash", "kubectl_complete-podfit asks podfit through kubectl", async () => {
  await withPodfit(async (env) => {
    const folder = env["PATH"]?.split(":")[0] ?? "";
    await Deno.writeTextFile(`${folder}/kubectl`, '#!/bin/sh\n[ "$1" = podfit ] && shift && exec podfit "$@"\n', {
      mode: 0o755,
    });
    const { formatCompletion } = await import("../../../lib/cli/completion/completion.ts");
    const script = formatCompletion("kubectl", readProgram());
    const answer = (...words: readonly string[]) =>
      runShell("bash", ["--norc", "-c", script, "kubectl_complete-podfit", ...words], env);
    assertEquals(await answer("explain", "wo"), "worker-0\n:4\n");
    // A space after the slash would end the word.
    assertEquals(await answer("explain", "dep"), "deployment/\n:6\n");
    assertEquals(await answer("top", "--namespace=sh"), "--namespace=shop\n:4\n");
    assert((await answer("explain", "-n", "")).includes("\nshop\n"));
  });
});

/** The real kubectl against the embedded API server, as a user runs it. Ignored where there is no kubectl. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { serve, toKubeconfig } from "../../../support/embedded/serve.ts";
import { systemClock } from "../../../../lib/runtime/clock.ts";
import { hasKubectl, kubectlCommand } from "../../../e2e/support/kubectl.ts";
import { readLines } from "../../../e2e/support/lines.ts";
import type { Json } from "../../../support/api_objects.ts";
import { createFullApiServer } from "../../../support/embedded/full_cluster.ts";
import { podManifest } from "../../../support/sim_server.ts";

const ignore = !await hasKubectl();

class Kubectl implements AsyncDisposable {
  readonly #served: AsyncDisposable;
  readonly #dir: string;

  constructor(served: AsyncDisposable, dir: string) {
    this.#served = served;
    this.#dir = dir;
  }

  /** What it said, on either stream. */
  async run(args: string, input?: Json): Promise<string> {
    using timeout = systemClock.timeout(30_000);
    const command = this.command(args, { stdin: input === undefined ? "null" : "piped", signal: timeout.signal });
    const child = command.spawn();
    if (input !== undefined) {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(typeof input === "string" ? input : JSON.stringify(input)));
      await writer.close();
    }
    const { stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    return decoder.decode(stdout) + decoder.decode(stderr);
  }

  /** Arguments are divided by spaces. */
  command(args: string, options: Deno.CommandOptions): Deno.Command {
    const own = ["--kubeconfig", `${this.#dir}/config`, "--cache-dir", `${this.#dir}/cache`];
    return kubectlCommand([...own, ...args.split(" ")], options);
  }

  async json(args: string): Promise<Json> {
    return JSON.parse(await this.run(`${args} -o json`));
  }

  async [Symbol.asyncDispose]() {
    await this.#served[Symbol.asyncDispose]();
    await Deno.remove(this.#dir, { recursive: true });
  }
}

async function start(): Promise<Kubectl> {
  const served = await serve(createFullApiServer({ clock: systemClock, random: Math.random }).handle);
  const dir = await Deno.makeTempDir();
  await Deno.writeTextFile(`${dir}/config`, toKubeconfig(served));
  return new Kubectl(served, dir);
}

const WORKLOAD = new URL("../../../../deploy/quickstart.yaml", import.meta.url).pathname;
const DEFINITION = new URL("../../../../crds/podresourceautoscaler.yaml", import.meta.url).pathname;
const SIZE = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m" } };
const STDIN = "-f -";

Deno.test(
  { name: "kubectl creates, shows, changes, resizes and deletes a pod (needs kubectl)", ignore },
  async () => {
    await using kubectl = await start();
    const manifest = podManifest("a", SIZE, { nodeName: "node1" });
    assertEquals(await kubectl.run(`apply ${STDIN}`, manifest), "pod/a created\n");
    assertEquals(await kubectl.run(`apply ${STDIN}`, manifest), "pod/a unchanged\n");
    manifest.spec.containers[0].image = "localhost/load:2";
    manifest.metadata.labels.tier = "front";
    assertEquals(await kubectl.run(`apply ${STDIN}`, manifest), "pod/a configured\n");
    const { spec, metadata } = await kubectl.json("get pod a");
    assertEquals([spec.containers[0].image, metadata.labels.tier, metadata.generation], [
      "localhost/load:2",
      "front",
      2,
    ]);
    assertMatch(
      await kubectl.run("get pods -o wide"),
      /^NAME +READY +STATUS .*\na +0\/1 +Pending +0 +\d+s +<none> +node1 /,
    );
    assertStringIncludes(await kubectl.run("get pod a -o yaml"), "terminationMessagePath: /dev/termination-log\n");
    const patch = (resources: Json) => JSON.stringify({ spec: { containers: [{ name: "main", resources }] } });
    const resized = await kubectl.run(`patch pod a --subresource resize -p ${patch({ requests: { cpu: "200m" } })}`);
    assertEquals(resized, "pod/a patched\n");
    assertStringIncludes(
      await kubectl.run(`patch pod a --subresource resize -p ${patch({ limits: { cpu: null } })}`),
      "resource limits cannot be removed",
    );
    assertMatch(await kubectl.run("describe pod a"), /Requests:\n +cpu: +200m\n/);
    // Newer ones also say from where.
    assertMatch(await kubectl.run("delete pod a --now --wait=false"), /^pod "a" deleted/);
    assert("deletionTimestamp" in (await kubectl.json("get pod a")).metadata);
  },
);

Deno.test(
  { name: "kubectl applies podfit's own manifests and waits for them (needs kubectl)", ignore },
  async () => {
    await using kubectl = await start();
    assertMatch(await kubectl.run(`apply -f ${DEFINITION}`), / created\n$/);
    const definition = "crd/podresourceautoscalers.keda.kedify.io";
    assertMatch(await kubectl.run(`wait --for=condition=Established ${definition} --timeout=5s`), /condition met\n$/);
    assertEquals(
      await kubectl.run(`apply -f ${WORKLOAD}`),
      "deployment.apps/hello created\npodresourceautoscaler.keda.kedify.io/hello created\n",
    );
    assertMatch(
      await kubectl.run("get pra,deploy"),
      /PODS +CPU +MEMORY +LIMITED +READY +AGE\n\S+\/hello +hello +\d+s\n\n.*\n.*\/hello +0\/1 +0 +0 +\d+s\n$/s,
    );
    assertMatch(await kubectl.run("explain pra.spec.policy.cooldown"), /FIELD: cooldown <string>/);
    assertMatch(await kubectl.run("scale deploy hello --replicas=3"), /scaled\n$/);
    assertEquals((await kubectl.json("get deploy hello")).spec.replicas, 3);
    assertMatch(await kubectl.run(`delete -f ${WORKLOAD}`), /"hello" deleted.*\n.*"hello" deleted/);
    const refused = {
      apiVersion: "keda.kedify.io/v1alpha1",
      kind: "PodResourceAutoscaler",
      metadata: { name: "x" },
      spec: {},
    };
    assertMatch(await kubectl.run(`apply ${STDIN}`, refused), /"x" is invalid: \n\* spec\.target: /);
  },
);

Deno.test({ name: "kubectl watches pods as they come, change and go (needs kubectl)", ignore }, async () => {
  await using kubectl = await start();
  await kubectl.run(`create ${STDIN}`, podManifest("a", SIZE, { nodeName: "node1" }));
  using timeout = systemClock.timeout(30_000);
  const child = kubectl.command("get pods --watch", { stdin: "null", stderr: "null", signal: timeout.signal }).spawn();
  const lines: string[] = [];
  const isListed = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const line of readLines(child.stdout)) {
      const count = lines.push(line);
      if (count === 2) isListed.resolve();
      if (count === 4) child.kill();
    }
    isListed.resolve();
  })();
  await isListed.promise;
  await kubectl.run("label pod a x=y");
  await kubectl.run("delete pod a --wait=false");
  await reading;
  await child.status;
  assertEquals(lines.map((line) => line.split(/ +/).slice(0, 3).join(" ")), [
    "NAME READY STATUS",
    "a 0/1 Pending",
    "a 0/1 Pending",
    "a 0/1 Terminating",
  ]);
});

/** What `tests/cluster/build` says of its work, with a `go` that builds empty files. */
import { assertEquals } from "#assert";
import { runWithInput } from "../support/podfit_process.ts";

const BUILD = new URL("../cluster/build", import.meta.url).pathname;

const GO = `#!/bin/sh
if [ "$1" = list ]; then echo v1.36.3; exit; fi
[ "$1" = run ] && shift $(($# - 1)) && : >"$1"
while [ $# -gt 1 ]; do
  [ "$1" = -o ] && : >"$2"
  shift
done
exit 0
`;

Deno.test("building a cluster says which step of how many it does, and nothing of steps that are done", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/go`, GO, { mode: 0o755 });
    const run = (args: readonly string[], kubernetes: Readonly<Record<string, string>> = {}) => {
      const home = { PATH: `${folder}:${Deno.env.get("PATH")}`, HOME: folder, CLUSTER_HOME: `${folder}/cluster` };
      return runWithInput(BUILD, { args: [...args], env: { ...home, ...kubernetes }, stdin: "" });
    };
    const build = async (...args: readonly string[]) => {
      const { code, stderr } = await run(args);
      assertEquals(code, 0, stderr);
      return stderr.trimEnd().split("\n");
    };
    assertEquals(await build("only"), ["[1 of 2] building image pause", "[2 of 2] building image load"]);
    const all = await build("helm", "metrics-server");
    assertEquals(
      all.map((line) => line.replace(/building /, "")),
      [
        ...["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "etcd", "containerd"],
        ...["containerd-shim-runc-v2", "ctr"],
      ].map((name, index) => `[${index + 1} of 13] ${name}`).concat("[12 of 13] helm", "[13 of 13] metrics-server"),
    );
    assertEquals(await build("helm", "metrics-server"), [""]);
    const other = await run([], { KUBERNETES: "1.37" });
    assertEquals(
      other.stderr.trimEnd().split("\n").map((line) => line.replace(/.*building /, "")),
      ["apiserver", "controller-manager", "scheduler", "let", "ctl"].map((name) =>
        `1.37/kube${name.length > 3 ? "-" : ""}${name}`
      ),
    );
    assertEquals((await run([], { KUBERNETES: "1.36" })).stderr, "");
    const unknown = await run([], { KUBERNETES: "1.30" });
    assertEquals([unknown.code, unknown.stderr], [
      2,
      "build: don't know Kubernetes 1.30: 1.34, 1.35, 1.36 or 1.37\n",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

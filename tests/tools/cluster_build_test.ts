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
    const build = async (...args: readonly string[]) => {
      const env = { PATH: `${folder}:${Deno.env.get("PATH")}`, HOME: folder, CLUSTER_HOME: `${folder}/cluster` };
      const { code, stderr } = await runWithInput(BUILD, { args: [...args], env, stdin: "" });
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
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

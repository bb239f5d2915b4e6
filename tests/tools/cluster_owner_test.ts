/** What `tests/cluster/owner` says of who has the network of the cluster, with an `ip` that names a process of the test. */
import { assertEquals, assertStringIncludes } from "#assert";
import { runWithInput } from "../support/podfit_process.ts";

const OWNER = new URL("../cluster/owner", import.meta.url).pathname;

Deno.test("a cluster is left alone by other homes than its own, unless its state was removed", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    const [run, bin] = [`${folder}/one/run`, `${folder}/bin`];
    for (const path of [run, bin]) await Deno.mkdir(path, { recursive: true });
    // The kernel names a process by its file.
    for (const name of ["etcd", "app"]) await Deno.copyFile("/bin/bash", `${bin}/${name}`);
    const ask = async (pid: number, ...args: readonly string[]) => {
      await Deno.writeTextFile(`${bin}/ip`, `#!/bin/sh\necho ${pid}\n`, { mode: 0o755 });
      const { code, stdout, stderr } = await runWithInput(OWNER, {
        args: [...args],
        env: { PATH: `${bin}:${Deno.env.get("PATH")}` },
        stdin: "",
      });
      return { code, stdout: stdout.trim(), stderr };
    };
    await using etcd = start(`${bin}/etcd`, run);
    await using app = start(`${bin}/app`, run);
    assertEquals(await ask(etcd.pid), { code: 0, stdout: run, stderr: "" });
    assertEquals(await ask(etcd.pid, run), { code: 0, stdout: "", stderr: "" });
    const other = await ask(etcd.pid, `${folder}/two/run`);
    assertEquals([other.code, other.stdout], [4, ""]);
    assertStringIncludes(other.stderr, `CLUSTER_HOME=${folder}/one `);
    assertEquals(await ask(app.pid), { code: 0, stdout: "", stderr: "" }, "what a pod runs there");
    await Deno.remove(run, { recursive: true });
    assertEquals(await ask(etcd.pid), { code: 0, stdout: `${run} (deleted)`, stderr: "" });
    assertEquals(await ask(etcd.pid, `${folder}/two/run`), { code: 0, stdout: "", stderr: "" });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** A process in that folder, which waits for its standard input to end. */
function start(program: string, cwd: string): AsyncDisposable & { readonly pid: number } {
  const child = new Deno.Command(program, { args: ["-c", "read -r"], cwd, stdin: "piped" }).spawn();
  return {
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      await child.stdin.close();
      await child.status;
    },
  };
}

/** What ships: the bundle starts without this source tree, is the version it says, and the daemon loads no demo with it. */
import { assertEquals } from "@std/assert";
import { VERSION } from "../../lib/cli/version.ts";
import { QUICK_START } from "../support/manifests.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

Deno.test("the bundle runs by itself, prints its version, checks manifests, and shows the demo", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const bundle = `${directory}/main.js`;
    const built = await deno(
      ["bundle", "--quiet", "--platform", "browser", "--minify", "--code-splitting", "--outdir", directory, "main.ts"],
      ROOT,
    );
    assertEquals([built.code, built.stderr], [0, ""]);
    const main = await Deno.readTextFile(bundle);
    assertEquals([/from"\.\/(demo|lint)-/.test(main), /import\("\.\/demo-/.test(main)], [false, true], "in chunks");
    const ran = await deno(
      ["run", "--no-config", "--no-remote", "--no-npm", "--allow-env", bundle, "--version"],
      directory,
    );
    assertEquals([ran.code, ran.stdout], [0, `${VERSION}\n`], ran.stderr);
    await Deno.writeTextFile(`${directory}/pra.yaml`, QUICK_START);
    const linted = await deno([
      "run",
      "--no-config",
      "--no-remote",
      "--no-npm",
      "--allow-env",
      "--allow-read",
      bundle,
      "lint",
      "-f",
      "pra.yaml",
    ], directory);
    assertEquals([linted.code, linted.stderr], [0, "podfit: 1 autoscaler: 0 errors, 1 warning\n"]);
    const shown = await deno([
      "run",
      "--no-config",
      "--no-remote",
      "--no-npm",
      "--allow-env",
      "--allow-net=127.0.0.1",
      bundle,
      "demo",
      "--seconds",
      "3",
    ], directory);
    assertEquals([shown.code, shown.stderr, /^resizes [1-9]/m.test(shown.stdout)], [0, "", true], shown.stdout);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

async function deno(args: readonly string[], cwd: string): Promise<{ code: number; stdout: string; stderr: string }> {
  // Deno's own look for a newer Deno loads the public roots into the process.
  const env = { DENO_NO_UPDATE_CHECK: "1" };
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd, env }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** What a reader does with `podfit demo --keep`: kubectl and podfit's own commands take its kubeconfig. */
import { assert, assertEquals, assertMatch } from "#assert";
import { runPodfit } from "../../support/podfit_process.ts";

const ROOT = new URL("../../../", import.meta.url);

Deno.test("podfit top, explain and lint --cluster work on the demo by its kubeconfig", async () => {
  await using child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=demo", "main.ts", "demo", "--keep"],
    cwd: ROOT.pathname,
    env: { DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let out = "";
  // Until a resize, of which explain says more.
  while (!/ [↑↓] /.test(out)) {
    const { value, done } = await reader.read();
    assert(!done, out);
    out += value;
  }
  const [, url = ""] = /^curl -so kc (\S+); export KUBECONFIG=kc$/m.exec(out) ?? [];
  const path = await Deno.makeTempFile();
  await Deno.writeTextFile(path, await (await fetch(url)).text());
  const ask = async (...args: readonly string[]) => {
    const asked = await runPodfit({ args: [...args, "--kubeconfig", path] });
    assertEquals(asked.code, 0, asked.complaints.join("\n"));
    return asked;
  };
  const top = await ask("top");
  assertEquals(top.stdout.match(/^\w+-\w+-\w+ +(web|worker|cache) /gm)?.length, 3, top.stdout);
  const [web = ""] = /^web-\S+/m.exec(top.stdout) ?? [];
  const explained = await ask("explain", web);
  assertMatch(explained.stdout, /^web-\S+ has cpu\.requests \d+m, .*podfit wants/);
  assertMatch(explained.stdout, /as of 0s ago/);
  const server = new URL(url).origin;
  for (const path of ["/api/v1/pods", "/api/v1/events"]) {
    const list = await (await fetch(`${server}${path}`)).json();
    const made = list.items.map(({ metadata }: { metadata: { creationTimestamp: string } }) =>
      Date.parse(metadata.creationTimestamp)
    );
    assert(made.length > 0, path);
    // kubectl's clock is this one: the age of what is made later is <invalid>.
    assertEquals(made.filter((at: number) => at > Date.now()), [], path);
  }
  const linted = await ask("lint", "--cluster");
  assertMatch(linted.complaints.join("\n"), /3 autoscalers: 0 errors, 0 warnings/);
  child.kill("SIGINT");
  for (let part = await reader.read(); !part.done; part = await reader.read()) out += part.value;
  assertEquals((await child.status).code, 0, out);
  await Deno.remove(path);
});

/** Does k9s get plug-ins that it takes, with commands and flags that podfit has? */
import { assert, assertEquals, assertMatch } from "#assert";
import { parse } from "../../lib/runtime/yaml.ts";
import { runPodfit } from "../support/podfit_process.ts";

interface Plugin {
  readonly shortCut: string;
  readonly description: string;
  readonly scopes: readonly string[];
  readonly command: string;
  readonly background: boolean;
  readonly args: readonly string[];
}

/** What k9s 0.32 to 0.51 binds to Shift in views of pods and workloads. It passes over a plug-in with such a key. */
const TAKEN = "ACFIJLMNOPRSTUVXZ";

const text = await Deno.readTextFile(new URL("../../deploy/k9s/plugins.yaml", import.meta.url));
const { plugins } = parse(text) as { readonly plugins: Readonly<Record<string, Plugin>> };

Deno.test("each plug-in of k9s has what k9s asks for, and no key that is taken in a view", () => {
  assert(Object.keys(plugins).length > 3);
  const keys = Object.values(plugins).flatMap(({ scopes, shortCut }) => scopes.map((scope) => `${scope} ${shortCut}`));
  assertEquals(keys.filter((key, at) => keys.indexOf(key) !== at), []);
  for (const [name, plugin] of Object.entries(plugins)) {
    const fields = ["args", "background", "command", "description", "scopes", "shortCut"];
    assertEquals(Object.keys(plugin).sort(), fields, name);
    assertMatch(plugin.shortCut, /^Shift-[A-Z]$/);
    assert(!TAKEN.includes(plugin.shortCut.slice(-1)), name);
  }
});

Deno.test("each plug-in of k9s calls a command of podfit with flags and a kind that it knows", async () => {
  for (const [name, { args }] of Object.entries(plugins)) {
    const [, line = ""] = /kubectl podfit (.*) \| less/.exec(args[1] ?? "") ?? [];
    const [command = "", ...rest] = line.replaceAll('"', "").replaceAll(/\$[A-Z]+/g, "x").split(" ");
    // There is no such server: what podfit says then is about the server, not about its arguments.
    const { code, complaints } = await runPodfit({ args: [command, ...rest, "--kubeconfig", "/nowhere"] });
    assertEquals(code, 2, name);
    assertMatch(complaints.join(" "), /kubeconfig "?\/nowhere/, name);
  }
});

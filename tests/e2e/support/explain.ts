/** podfit's commands that ask a running podfit's second listener: started with DEBUG, it is asked as people do, in a process of its own. */
import { assert, assertEquals } from "#assert";
import { runPodfit } from "../../support/podfit_process.ts";
import { waitFor } from "./cluster.ts";
import type { Podfit } from "./podfit.ts";

/** Of podfit's command line. */
export const DEBUG = ["--debug-listen", "127.0.0.1:0"] as const;

/** Runs one of the commands, `ask("explain", "web-0")`, about a namespace. */
export type Ask = (...args: readonly string[]) => ReturnType<typeof runPodfit>;

/** Of a podfit that was started with DEBUG. */
export function askAbout(namespace: string, podfit: Podfit): Ask {
  const url = readDebugUrl(podfit);
  return (...args) => runPodfit({ args: [...args, "-n", namespace, "--url", url] });
}

function readDebugUrl(podfit: Podfit): string {
  const address = podfit.log("Listening for those who debug")[0]?.["address"];
  assert(typeof address === "string", podfit.lines.join("\n"));
  return `http://${address}`;
}

/** What `podfit explain` says of it, once it says this. */
export async function explainUntil(ask: Ask, name: string, pattern: RegExp): Promise<string> {
  return await waitFor(`explain of "${name}" to say ${pattern}`, async () => {
    const { code, stdout, complaints } = await ask("explain", name);
    assertEquals(code, 0, complaints.join("\n"));
    if (pattern.test(stdout)) return stdout;
    throw new Error(`it says:\n${stdout}`);
  }, { timeoutMs: 120_000, everyMs: 3_000 });
}

/** What `podfit explain` says while a resize waits for room on its node, on the real cluster: word by word. */
import { assertMatch } from "#assert";
import { askAbout, explainUntil } from "../support/explain.ts";
import type { Stage } from "../support/stories.ts";

const KUBELETS = "Node didn't have enough resource: cpu, requested: 310, used: \\d+, capacity: \\d+";
const BLOCKED = `ResizeDeferred: a resize of the pod is deferred: ${KUBELETS}`;
const ASKED = "cpu\\.requests 10m -> 310m";
const TIME = "\\S+ ago \\(\\d\\d:\\d\\d:\\d\\dZ\\)";

/** In the order in which it says them; `NAME` is the pod's. */
const SAID = [
  "^NAME has cpu\\.requests 10m\\. podfit wants 310m\\. Blocked, with no known end: the kubelet has deferred a resize of the pod \\(ResizeDeferred\\)\\.\n",
  `^It has the size from before: podfit asked for ${ASKED} ${TIME}, because cpu\\.requests at \\d+ %, capped by max\\. ` +
  `That resize is deferred: ${KUBELETS}\\.\n`,
  "^  cpu\\.requests +10m +\\d+ % +0 % +60 % +10 % +\\.\\.310m +up 1 of 1\n",
  `^  Decision: blocked, ${BLOCKED}( \\(unchanged for .*\\))?\n`,
  "^  Blocked \\(\\d+ of \\d+ checks pass\\):\n",
  `^    ${BLOCKED}\n`,
  `^    ${TIME}  ${ASKED}  because cpu\\.requests at \\d+ %, capped by max; not seen in force yet\n`,
  `^    - a resize of the pod is deferred: ${KUBELETS}; the kubelet tries again once its node has headroom\n` +
  "    At the earliest: not known, because time alone does not end what blocks it\n$",
];

/** The pod has 10m, and its autoscaler takes it to 310m at once; podfit was started with DEBUG. */
export async function playExplained({ podfit, pod: { namespace, name } }: Stage): Promise<void> {
  // Not while the cooldown blocks as well.
  const said = await explainUntil(askAbout(namespace, podfit), name, /Blocked, [^;\n]*\(ResizeDeferred\)\.$/m);
  let rest = said;
  for (const words of SAID) {
    const pattern = new RegExp(words.replace("NAME", name), "m");
    assertMatch(rest, pattern, `of\n${said}`);
    rest = rest.slice(rest.search(pattern));
  }
}

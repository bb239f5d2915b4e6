/**
 * Does a real API server take what the chart makes of each value? Applied by server-side apply as a dry run: schemas,
 * defaults, the CEL of policies and admission are the server's, and nothing is left behind (C54).
 */
import { assert, assertEquals } from "#assert";
import { listFlips, merge, readLeaves } from "../support/chart_flips.ts";
import { renderFew } from "../support/chart_renders.ts";
import { hasHelm } from "../../tools/helm.ts";
import { MANIFESTS } from "../../tools/render.ts";
import { tryKubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";

const ROOT = new URL("../../", import.meta.url);
/** Kinds of the Prometheus operator, which is not there. */
const FOREIGN = /^apiVersion: monitoring\.coreos\.com\//m;

scenario("C54 the API server takes what the chart makes of each of its values, in each mode", {
  realOnly: "it has every kind, and a real schema of each",
  async run({ namespace }) {
    assert(await hasHelm(), "helm is not built: tests/cluster/build helm");
    const render = renderFew(namespace);
    const flips = listFlips(await readLeaves()).map(({ values }) => values);
    const agents = NODE_LOCAL.map((values) => merge(values, { mode: "node-local" }));
    const texts = await Promise.all([{}, ...flips, ...agents].map((values) => render(values)));
    const documents = new Set(texts.flatMap(splitDocuments).map((text) => place(text, namespace)));
    assert(documents.size > 150, String(documents.size));
    await applyDry([...documents]);
  },
});

scenario("C54 the API server takes the manifests that are applied without Helm", {
  realOnly: "it has every kind, and a real schema of each",
  async run({ namespace }) {
    for (const path of Object.keys(MANIFESTS)) {
      const text = await Deno.readTextFile(new URL(path, ROOT));
      const documents = splitDocuments(text).filter((document) => !/^kind: Namespace$/m.test(document));
      await applyDry(documents.map((document) => place(document, namespace)));
    }
  },
});

/** Values that make other objects of an agent than of a replica. */
const NODE_LOCAL = [
  {},
  { statsSource: "kubelet", networkPolicy: { enabled: true } },
  { statsSource: "auto", metrics: { auth: true, tls: { secretName: "tls" } } },
  { statsSource: "kubelet", kubelet: { ca: { configMap: { name: "ca" } } }, ipFamily: "IPv6" },
];

function splitDocuments(text: string): readonly string[] {
  return text.split(/^---$/m).filter((document) => /^kind: /m.test(document) && !FOREIGN.test(document));
}

/** Into namespaces that are there. */
function place(text: string, namespace: string): string {
  return text.replace(/^( +(?:- )?namespace): "(?:podfit|shop)"$/gm, `$1: ${namespace}`).replace(
    /^( +(?:- )?namespace): "search"$/gm,
    "$1: default",
  );
}

async function applyDry(documents: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await tryKubectl(
    ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--field-manager=chart-test", "-f", "-"],
    { input: documents.join("\n---\n"), timeoutMs: 180_000 },
  );
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout.trim().split("\n").length, documents.length);
}

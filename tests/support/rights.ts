/** podfit's rights in mode central, out of deploy/install.yaml: accounts, roles and what binds them, without what runs. */
import { parseAll } from "../../lib/runtime/yaml.ts";
import { renderText, type Values } from "../../tools/helm.ts";
import type { Json } from "./api_objects.ts";

const MANIFEST = new URL("../../deploy/install.yaml", import.meta.url);
const KINDS = /^kind: (?:Namespace|ServiceAccount|(?:Cluster)?Role(?:Binding)?)$/m;

/** As text, to be edited. */
export async function readRightsText(): Promise<string> {
  return pickRights(await Deno.readTextFile(MANIFEST));
}

/** The rights that the chart grants with these values, as text. Needs helm. */
export async function renderRightsText(values: Values): Promise<string> {
  return pickRights(await renderText({ values }));
}

function pickRights(manifest: string): string {
  return manifest.split(/^---$/m).filter((document) => KINDS.test(document)).join("---");
}

/** As objects. */
export async function readRights(): Promise<readonly Json[]> {
  return parseAll(await readRightsText()) as Json[];
}

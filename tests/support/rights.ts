/** podfit's rights in mode central, out of deploy/install.yaml: accounts, roles and what binds them, without what runs. */
import { parseAll } from "../../lib/runtime/yaml.ts";
import type { Json } from "./api_objects.ts";

const MANIFEST = new URL("../../deploy/install.yaml", import.meta.url);
const KINDS = /^kind: (?:Namespace|ServiceAccount|(?:Cluster)?Role(?:Binding)?)$/m;

/** As text, to be edited. */
export async function readRightsText(): Promise<string> {
  const documents = (await Deno.readTextFile(MANIFEST)).split(/^---$/m);
  return documents.filter((document) => KINDS.test(document)).join("---");
}

/** As objects. */
export async function readRights(): Promise<readonly Json[]> {
  return parseAll(await readRightsText()) as Json[];
}

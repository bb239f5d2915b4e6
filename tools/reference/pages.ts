/** Which files of the documentation are generated, and from what? */
import { parse } from "../../lib/runtime/yaml.ts";
import { type Crd, toApiPage } from "./api.ts";
import { toCliPage, toFlagsPage } from "./cli.ts";
import { toHelmPage } from "./helm_values.ts";
import { toJsonSchema, toSchemaPath } from "./json_schema.ts";
import { toLintPage } from "./lint_rules.ts";

const ROOT = new URL("../../", import.meta.url);

/** In the order of the API page. */
const CRDS = ["podresourceautoscaler", "scaledobject", "triggerauthentication", "clustertriggerauthentication"];

/** File -> text of every generated page and schema. */
export async function generatePages(): Promise<Map<string, string>> {
  const crds = await Promise.all(CRDS.map(async (name) => parse(await readText(`crds/${name}.yaml`)) as Crd));
  const [values = "", schema = ""] = await Promise.all(
    ["values.yaml", "values.schema.json"].map((name) => readText(`deploy/helm/${name}`)),
  );
  return new Map([
    ["docs/reference/api.md", toApiPage(crds)],
    ["docs/reference/cli.md", toCliPage()],
    ["docs/reference/flags.md", toFlagsPage()],
    ["docs/reference/helm-values.md", toHelmPage(values, schema)],
    ["docs/reference/lint-rules.md", toLintPage()],
    ...crds.map((crd) => [toSchemaPath(crd), toJsonSchema(crd)] as const),
  ]);
}

function readText(file: string): Promise<string> {
  return Deno.readTextFile(new URL(file, ROOT));
}

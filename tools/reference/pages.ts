/** Which files of the documentation are generated, and from what? */
import { parse } from "../../lib/runtime/yaml.ts";
import { type Crd, toApiPage } from "./api.ts";
import { toCliPage, toFlagsPage } from "./cli.ts";
import { fillPage, hasMarks } from "./marks.ts";
import { toHelmPage } from "./helm_values.ts";
import { toJsonSchema, toSchemaPath } from "./json_schema.ts";
import { toLintPage } from "./lint_rules.ts";
import { toMetricsPage } from "./metrics.ts";
import { toReasonsPage } from "./reasons.ts";

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
    ["docs/reference/metrics.md", toMetricsPage()],
    ["docs/reference/reasons.md", toReasonsPage()],
    ...crds.map((crd) => [toSchemaPath(crd), toJsonSchema(crd)] as const),
    ...await fillPages(),
  ]);
}

/** Pages that people write, with tables of results in them. */
async function fillPages(): Promise<readonly (readonly [file: string, text: string])[]> {
  const results = await readFolder("tests/verify/results/");
  const pages = await Promise.all(["docs/concepts/", "docs/evidence/", "docs/reference/"].map(async (folder) => {
    return [...await readFolder(folder)].map(([name, text]) => [folder + name, text] as const);
  }));
  return pages.flat().filter(([, text]) => hasMarks(text)).map(([file, text]) => [file, fillPage(text, results)]);
}

/** The Markdown files of a folder; none where it does not exist. */
async function readFolder(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const entries = await Array.fromAsync(Deno.readDir(new URL(folder, ROOT))).catch(() => []);
  for (const { name } of entries.filter(({ name }) => name.endsWith(".md"))) {
    found.set(name, await readText(folder + name));
  }
  return found;
}

function readText(file: string): Promise<string> {
  return Deno.readTextFile(new URL(file, ROOT));
}

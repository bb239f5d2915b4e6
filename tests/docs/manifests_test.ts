/** Does podfit take the manifests that the documentation shows, and do editors? */
import { assert, assertEquals } from "#assert";
import { Validator } from "@cfworker/json-schema";
import { lintManifests } from "../../lib/cli/lint/lint_files.ts";
import { parseAll } from "../../lib/runtime/yaml.ts";
import { listBlocks } from "../../tools/docs/markdown.ts";
import { listPages } from "../support/doc_pages.ts";

const ROOT = new URL("../../", import.meta.url);
const SCHEMAS: Readonly<Record<string, string>> = {
  PodResourceAutoscaler: "keda.kedify.io/podresourceautoscaler_v1alpha1",
  ScaledObject: "keda.sh/scaledobject_v1alpha1",
  TriggerAuthentication: "keda.sh/triggerauthentication_v1alpha1",
  ClusterTriggerAuthentication: "keda.sh/clustertriggerauthentication_v1alpha1",
};

Deno.test("podfit lint has no error and no warning for any manifest of the documentation", async () => {
  const blocks = await listYaml();
  const checked = blocks.filter(({ text }) => listObjects(text).some(({ kind = "" }) => kind in SCHEMAS));
  assert(checked.length > 15, `${checked.length} manifests`);
  for (const { file, text } of checked) assertEquals(listFaults(text), [], `${file}:\n${text}`);
});

Deno.test("every YAML block of the documentation can be parsed, and its objects fit the schemas for editors", async () => {
  const validators = new Map<string, Validator>();
  for (const [kind, path] of Object.entries(SCHEMAS)) {
    const schema = JSON.parse(await Deno.readTextFile(new URL(`crds/schemas/${path}.json`, ROOT)));
    validators.set(kind, new Validator(schema, "7", false));
  }
  for (const { file, text } of await listYaml()) {
    for (const object of listObjects(text)) {
      assertEquals(validators.get(object.kind ?? "")?.validate(object).errors ?? [], [], `${file}:\n${text}`);
    }
  }
});

Deno.test("the chart takes the values that the documentation shows", async () => {
  const schema = JSON.parse(await Deno.readTextFile(new URL("deploy/helm/values.schema.json", ROOT)));
  const validator = new Validator(schema, "2020-12", false);
  const blocks = (await listYaml()).filter(({ text }) => listObjects(text).some((one) => isValues(one, schema)));
  assert(blocks.length > 3, `${blocks.length} blocks`);
  for (const { file, text } of blocks) {
    for (const values of listObjects(text)) assertEquals(validator.validate(values).errors, [], `${file}:\n${text}`);
  }
});

Deno.test("a block with an invalid value is found, also within a list", () => {
  const page =
    "1. Write:\n\n   ```yaml\n   kind: PodResourceAutoscaler\n   spec: {profile: fast}\n   ```\n\n```yaml\na: 1\n```\n";
  const [first = "", second] = toYaml(page);
  assertEquals([first, second], ["kind: PodResourceAutoscaler\nspec: {profile: fast}\n", "a: 1\n"]);
  assert(listFaults(first).some((message) => message.includes('"fast"')));
});

/** Whether every field of an object is a value of the chart. */
function isValues(object: object, schema: { readonly properties: object }): boolean {
  return Object.keys(object).every((name) => name in schema.properties);
}

interface Block {
  readonly file: string;
  readonly text: string;
}

async function listYaml(): Promise<readonly Block[]> {
  return (await listPages()).flatMap(({ file, text }) => toYaml(text).map((block) => ({ file, text: block })));
}

/** The YAML blocks of a page. */
function toYaml(page: string): readonly string[] {
  return listBlocks(page).filter(({ language }) => language === "yaml").map(({ text }) => text);
}

function listObjects(text: string): readonly { readonly kind?: string }[] {
  return (parseAll(text) as unknown[]).filter((one): one is { kind?: string } =>
    typeof one === "object" && one !== null
  );
}

/** Errors and warnings: a page shows nothing that podfit warns of. */
function listFaults(text: string): readonly string[] {
  const { findings } = lintManifests([{ name: "block", text }]);
  return findings.filter(({ level }) => level !== "advice").map(({ path, message }) => `${path}: ${message}`);
}

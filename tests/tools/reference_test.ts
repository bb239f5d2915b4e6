/** Do the generated pages and schemas show what podfit has, and nothing that it refuses? */
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "#assert";
import { Validator } from "@cfworker/json-schema";
import { FLAGS } from "../../lib/cli/run/flags.ts";
import { type DescribedFamily, ERROR_REASONS, FAMILIES, REPLICA_FAMILIES } from "../../lib/daemon/metrics/families.ts";
import { LINT_RULES } from "../../lib/model/lint_rules.ts";
import type { AutoscalerConditionReason, ScaledObjectConditionReason } from "../../lib/model/meanings/conditions.ts";
import { EVENT_MEANINGS } from "../../lib/model/meanings/events.ts";
import { SIZE_MEANINGS } from "../../lib/model/meanings/reasons.ts";
import { AUTOSCALER_REASONS, BLOCK_REASONS, HOLD_REASONS, NOTICES, RESIZE_REASONS } from "../../lib/model/reasons.ts";
import { REPLICAS_NOTICES, REPLICAS_REASONS } from "../../lib/model/replicas_decision.ts";
import { CONDITION_TYPES } from "../../lib/model/replicas_state.ts";
import { EXTERNAL_TYPES, type ExternalType } from "../../lib/model/scaled_object.ts";
import { METRICS_API_KEYS, PROMETHEUS_KEYS } from "../../lib/resources/scaled_object/http_triggers.ts";
import { METRIC_SOURCES } from "../../lib/resources/scaled_object/metric_triggers.ts";
import { CRON_KEYS, OBJECT_KEYS, WORKLOAD_KEYS } from "../../lib/resources/scaled_object/local_triggers.ts";
import { parse, parseAll } from "../../lib/runtime/yaml.ts";
import { type Crd, toApiPage } from "../../tools/reference/api.ts";
import { toCliPage, toFlagsPage } from "../../tools/reference/cli.ts";
import { fillPage } from "../../tools/reference/marks.ts";
import { listValues, toHelmPage } from "../../tools/reference/helm_values.ts";
import { toJsonSchema, toSchemaPath } from "../../tools/reference/json_schema.ts";
import { toHeadingLink, toSentence, toTable } from "../../tools/reference/markdown.ts";
import { toMetricsPage } from "../../tools/reference/metrics.ts";
import { toReasonsPage } from "../../tools/reference/reasons.ts";
import { readProgram } from "../support/completions.ts";
import { readLeaves } from "../support/chart_flips.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("the page of the API has each field of a schema", () => {
  const page = toApiPage([crd({
    size: { type: "string", enum: ["s", "m"], default: "m", description: "How large" },
    ports: { type: "array", items: { type: "object", properties: { port: { type: "integer", minimum: 1 } } } },
  })]);
  assertStringIncludes(page, "| `size` | How large.<br>*`s`, `m`; required; default `m`*. |");
  assertStringIncludes(page, "See [ports](#toy-specports).");
  assertStringIncludes(page, "### Toy spec.ports[]\n");
  assertStringIncludes(page, "| `port` | *integer, from 1*. |");
});

Deno.test("the page of the API describes the same fields of two kinds once", () => {
  const fields = { size: { type: "string", description: "How large" } };
  const page = toApiPage([crd(fields), crd(fields, "Game")]);
  assertStringIncludes(page, "### Game spec\n\nThe same fields as [Toy spec](#toy-spec).");
});

Deno.test("the pages have every command, every flag of a command, and every flag of the daemon with its variable", () => {
  const [cli, flags] = [toCliPage(), toFlagsPage()];
  for (const command of readProgram().commands) {
    assertStringIncludes(cli, `\n## podfit ${command.name()}\n`);
    const own = command.name() === "run" ? [] : command.options.map((option) => `| \`${option.flags}\` |`);
    assertEquals(own.filter((row) => !cli.includes(row)), [], command.name());
  }
  for (const { flag, variable } of Object.values(FLAGS)) {
    assertMatch(flags, new RegExp(`^\\| \`${flag}( [^\`]+)?\` \\| .*variable \`${variable}\``, "m"));
  }
});

Deno.test("the pages have every reason, condition, event and metric, each with what to do", () => {
  const reasons = toReasonsPage();
  const tables = [
    HOLD_REASONS,
    BLOCK_REASONS,
    RESIZE_REASONS,
    REPLICAS_REASONS,
    AUTOSCALER_REASONS,
    CONDITION_TYPES,
    ERROR_REASONS,
    Object.keys(NOTICES),
    Object.keys(REPLICAS_NOTICES),
  ];
  const rows = reasons.split("\n").filter((line) => line.startsWith("| `"));
  for (const word of tables.flat()) {
    const own = rows.filter((row) => row.startsWith(`| \`${word}\` |`));
    assert(own.length > 0, word);
    for (const row of own) assertMatch(row, /[.]( \| (no|yes|if it lasts 15 min))? \|$/);
  }
  const metrics = toMetricsPage();
  for (const { name, help, labels, use } of [...Object.values(FAMILIES), ...Object.values(REPLICA_FAMILIES)]) {
    const row = metrics.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
    assertStringIncludes(row, labels.map((label) => `\`${label}\``).join(", "));
    for (const text of [help, use]) assertStringIncludes(row, text.replaceAll("|", "\\|"));
    // Each entry says whether to alert.
    assertMatch(use, /[aA]lert/, name);
  }
});

Deno.test("a word without an entry does not type-check", () => {
  // @ts-expect-error: a reason about sizes is missing
  const sizes: typeof SIZE_MEANINGS = { InBand: SIZE_MEANINGS.InBand };
  // @ts-expect-error: an event is missing
  const events: typeof EVENT_MEANINGS = { ScaleUp: EVENT_MEANINGS.ScaleUp };
  // @ts-expect-error: no entry has this word
  const reasons: AutoscalerConditionReason | ScaledObjectConditionReason = "Unheard";
  // @ts-expect-error: a family says what it is for
  const family: DescribedFamily = { kind: "gauge", name: "a", help: "A", labels: [] };
  assertEquals([Object.keys(sizes), Object.keys(events), reasons, family.use], [
    ["InBand"],
    ["ScaleUp"],
    "Unheard",
    undefined,
  ]);
});

Deno.test("the page of values has every value of the chart", async () => {
  const [values = "", schema = ""] = await Promise.all(
    ["values.yaml", "values.schema.json"].map((name) => readText(`deploy/helm/${name}`)),
  );
  const page = toHelmPage(values, schema);
  const listed = new Set([...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, path = ""]) => path));
  // A map that the user fills is one value.
  const isListed = (path: string) =>
    path.split(".").some((_, at, parts) => listed.has(parts.slice(0, at + 1).join(".")));
  const leaves = [...await readLeaves()].map(({ path }) => path);
  assert(leaves.length > 80, `${leaves.length} values`);
  assertEquals(leaves.filter((path) => !isListed(path)), []);
});

Deno.test("listValues() finds a value with its comment, and one that only a comment shows", () => {
  const schema = { properties: { a: { properties: { b: {}, c: { properties: { e: {} } } } }, d: {} } };
  const text = "# The file.\n\n# About a:\n# note: it is large.\na:\n  b: 1\n  # Of c.\n  # c:\n  #   e: 2\nd: []\n";
  assertEquals(listValues(text, schema), [
    { path: "a", comment: ["About a:", "note: it is large."], isUnset: false },
    { path: "a.b", comment: [], isUnset: false },
    { path: "a.c", comment: ["Of c."], isUnset: true },
    { path: "a.c.e", comment: [], isUnset: true },
    { path: "d", comment: [], isUnset: false },
  ]);
});

Deno.test("each finding that lint's code names has the level of the table", async () => {
  const texts = await Promise.all(
    ["checks/checks.ts", "checks/conflicts.ts", "checks/authentications.ts", "lint_files.ts", "lint_cluster.ts"]
      .map((file) => readText(`lib/cli/lint/${file}`)),
  );
  const named = texts.flatMap((text) => [...text.matchAll(/level: "(\w+)",\s+rule: "([\w-]+)"/g)]);
  assert(named.length > 15, `${named.length} findings`);
  for (const [, level, rule = ""] of named) {
    assertEquals(LINT_RULES[rule as keyof typeof LINT_RULES].level, level, rule);
  }
});

Deno.test("the schemas take the manifests of deploy/ and refuse a misspelt field, as editors show it", async () => {
  const crds = await Promise.all(["podresourceautoscaler", "scaledobject"].map(async (name) => {
    return parse(await readText(`crds/${name}.yaml`)) as Crd;
  }));
  const files = ["deploy/demo/web.yaml", "deploy/demo/both.yaml", "deploy/quickstart.yaml"];
  const objects = (await Promise.all(files.map(readText))).flatMap((text) => parseAll(text)) as Manifest[];
  for (const one of crds) {
    const { kind } = one.spec.names;
    const validator = new Validator(JSON.parse(toJsonSchema(one)), "7", false);
    const own = objects.filter((object) => object.kind === kind);
    assert(own.length > 0, kind);
    for (const object of own) {
      assertEquals(validator.validate(object).errors, [], kind);
      assert(!validator.validate({ ...object, spec: { ...object.spec, paussed: true } }).valid, kind);
      assert(!validator.validate({ ...object, apiVersion: "v1" }).valid, kind);
    }
  }
  const [first] = crds;
  assert(first !== undefined);
  assertEquals(toSchemaPath(first), "crds/schemas/keda.kedify.io/podresourceautoscaler_v1alpha1.json");
});

Deno.test("a page gets its tables from the results, and a mark that names nothing is an error", () => {
  const results = new Map([[
    "scale.md",
    "# `scale`\n\nTaken at commit abcdef1 on 2026-01-02.\n\nSmall:\n\n| a |\n| --- |\n| 1 |\n\nLarge:\n\n| b |\n",
  ]]);
  const page = (mark: string) => `Text.\n\n<!-- ${mark} -->\nold\n<!-- end -->\n`;
  const large = page('table scale.md "Large:"');
  assertEquals(fillPage(large, results), large.replace("old", "\n| b |\n"));
  assertEquals(fillPage(fillPage(large, results), results), fillPage(large, results));
  assertStringIncludes(
    fillPage(page("runs"), results),
    "| `scale` | 2026-01-02 | abcdef1 | [scale.md](../../tests/verify/results/scale.md) |",
  );
  const quality =
    "CPU of real servers:\n\n| controller | resizes/h | slack m | under % of time |\n| --- | --- | --- | --- |\n" +
    ["latency", "balanced", "thrifty"].map((name, at) => `| podfit-${name} | 1.${at} | 9${at} | 0.6 |\n`).join("");
  assertStringIncludes(
    fillPage(page("quality"), new Map([["quality.md", quality]])),
    "| `balanced` | 91m | 1.1 | 0.6 % of the time |",
  );
  const run = new Map([["run.md", "Text.\n\n```\n$ a --b\n1\n```\n\n```\n$ a --c\n2\n```\n"]]);
  assertStringIncludes(fillPage(page('block run.md "a --c"'), run), "-->\n\n```text\n$ a --c\n2\n```\n\n<!-- end -->");
  assertThrows(() => fillPage(page('block run.md "a --d"'), run), Error, 'Cannot find the block "a --d" in run.md');
  assertStringIncludes(fillPage(page("profiles"), results), "| `cooldown` | 90s | 4m | 1m |");
  assertThrows(
    () => fillPage(page('table scale.md "Medium"'), results),
    Error,
    'Cannot find the table "Medium" in scale.md',
  );
});

Deno.test("every label, annotation and finalizer that podfit reads is on its page, and no other", async () => {
  // sim.podfit.dev and demo.podfit.dev belong to the embedded cluster.
  const key =
    /(?<![.\w])(?:podfit\.dev|pra\.kedify\.io|(?:autoscaling|scaledobject|validations)\.keda\.sh)\/[a-z-]+|\bfinalizer\.keda\.sh\b/g;
  // Pauses are the same with both prefixes.
  const listKeys = (text: string) =>
    text.replaceAll(
      /.*\$\{prefix\}\/paused.*/g,
      (line) => ["autoscaling.keda.sh", "podfit.dev"].map((prefix) => line.replaceAll("${prefix}", prefix)).join("\n"),
    ).match(key)?.filter((one) => one !== "scaledobject.keda.sh/name") ?? [];
  const sources = [...(await listSources("lib/")), "deploy/policies/central.yaml"];
  const read = (await Promise.all(sources.map(readText))).flatMap(listKeys);
  assert(read.length > 20, `${read.length} places`);
  const shown = listKeys(await readText("docs/reference/labels.md"));
  assertEquals([...new Set(shown)].sort(), [...new Set(read)].sort());
});

Deno.test("the page about KEDA has every trigger with every key of its metadata that podfit accepts", async () => {
  const page = await readText("docs/reference/keda-support.md");
  for (const type of EXTERNAL_TYPES) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${type}\` |`));
    assert(row !== undefined, type);
    const accepted = KEYS[type].filter((key) => !REFUSED_KEYS.includes(key));
    assertEquals(accepted.filter((key) => !row.includes(`\`${key}\``)), [], type);
  }
});

const KEYS: Readonly<Record<ExternalType, readonly string[]>> = {
  cron: CRON_KEYS,
  "kubernetes-resource": OBJECT_KEYS,
  "kubernetes-workload": WORKLOAD_KEYS,
  "metrics-api": METRICS_API_KEYS,
  prometheus: PROMETHEUS_KEYS,
  "pods-metric": METRIC_SOURCES["pods-metric"].keys,
  "object-metric": METRIC_SOURCES["object-metric"].keys,
  "external-metric": METRIC_SOURCES["external-metric"].keys,
};

/** podfit reads them to say that it does not support them. */
const REFUSED_KEYS = ["awsRegion", "identityOwner"];

Deno.test("Markdown shows the same characters as the source", () => {
  const cases: Readonly<Record<string, string>> = {
    "how many, a|b": "How many, a\\|b.",
    "accept <any> of *.yaml": "Accept &lt;any> of \\*.yaml.",
    "the `a|b` of it": "The `a\\|b` of it.",
    "pollInterval of all": "pollInterval of all.",
    "": "",
  };
  for (const [text, shown] of Object.entries(cases)) assertEquals(toSentence(text), shown);
  assertEquals(toHeadingLink("Toy spec.ports[]"), "#toy-specports");
  assertEquals(toTable(["a", "b", "c"], [["1", "", "2"]]), "| a | c |\n| --- | --- |\n| 1 | 2 |");
});

interface Manifest {
  readonly kind: string;
  readonly spec: object;
}

function crd(fields: Readonly<Record<string, unknown>>, kind = "Toy"): Crd {
  const openAPIV3Schema = {
    description: "A toy",
    properties: { spec: { type: "object", required: ["size"], properties: fields as never } },
  };
  return {
    spec: {
      group: "toys.example",
      scope: "Namespaced",
      names: { kind, plural: `${kind.toLowerCase()}s` },
      versions: [{ name: "v1", schema: { openAPIV3Schema } }],
    },
  };
}

async function listSources(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(new URL(folder, ROOT)));
  const found = await Promise.all(entries.map(({ name, isDirectory }) => {
    if (isDirectory) return listSources(`${folder}${name}/`);
    return name.endsWith(".ts") ? [`${folder}${name}`] : [];
  }));
  return found.flat();
}

function readText(file: string): Promise<string> {
  return Deno.readTextFile(new URL(file, ROOT));
}

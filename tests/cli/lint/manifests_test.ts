/** Does lint find what the parser finds, and on the right line? And what only a file can get wrong? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { stringify } from "yaml";
import { type Finding, lintManifests, type LintResult } from "../../../lib/cli/lint/lint_files.ts";
import { parseAutoscaler } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import { BAD_MANIFESTS } from "../../support/bad_manifests.ts";
import { GOOD_MANIFESTS } from "../../support/good_manifests.ts";
import { type Edits, EXAMPLE, type Manifest, QUICK_START, toManifest } from "../../support/manifests.ts";

for (const { sentence, manifest, path } of BAD_MANIFESTS) {
  Deno.test(`C8 lint names ${path} on its line, in the daemon's words, when there is ${sentence}`, () => {
    const text = JSON.stringify(manifest, null, 2);
    const { findings } = lint(text);
    const parsed = parseAutoscaler(manifest);
    assertEquals(findings.map(problemOf).sort(byPath), parsed.ok ? [] : parsed.problems.toSorted(byPath));
    const finding = findings.find((one) => one.path === path || /^[.[]/.test(one.path.replace(path, "")));
    assert(finding !== undefined, JSON.stringify(findings));
    const [first, last] = linesOf(text, path);
    assert(finding.place.line >= first && finding.place.line <= last, `${finding.place.line} in ${first}..${last}`);
    assertEquals(lint(toYaml(manifest)).findings.map(problemOf).sort(byPath), findings.map(problemOf).sort(byPath));
  });
}

Deno.test("lint finds no error in good manifests, in YAML and in JSON", () => {
  for (const { sentence, manifest } of GOOD_MANIFESTS) {
    for (const text of [toYaml(manifest), JSON.stringify(manifest), JSON.stringify(manifest, null, "\t")]) {
      const { findings, checked, others } = lint(text);
      assertEquals(findings.filter(({ level }) => level === "error"), [], sentence);
      assertEquals([checked.get("autoscaler"), others], [1, 0]);
    }
  }
});

Deno.test("lint advises against a long wait before a scale-up, where it is not the author's own", () => {
  const path = "spec.policy.cooldown";
  const side = "spec.policy.cpu.requests";
  const cases: readonly (readonly [Edits, readonly string[]])[] = [
    [{ [path]: "30s" }, []],
    [{ [path]: "31s" }, [path]],
    [{ [path]: "2m", "spec.policy.scaleUp": { cooldown: "0s" } }, []],
    [{ [path]: "2m", "spec.policy.scaleUp": { cooldown: "1m" } }, []],
    [{ [path]: "2m", "spec.policy.scaleDown": { cooldown: "10m" } }, [path]],
    [{ [path]: "2m", [`${side}.cooldown`]: "10s" }, []],
    [{ [path]: "10s", [`${side}.cooldown`]: "2m" }, [`${side}.cooldown`]],
  ];
  for (const [edits, paths] of cases) assertEquals(pathsOf(toManifest(edits)), paths, JSON.stringify(edits));
  const [advice] = lint(toYaml(toManifest({}))).findings;
  assertStringIncludes(advice?.message ?? "", "scaleUp: {cooldown: 0s}");
  const parsed = parseAutoscaler(toManifest({}));
  assertEquals(parsed.ok && parsed.warnings, [], "the condition Ready says nothing of it");
});

Deno.test("lint gives the parser's warnings", () => {
  const { findings } = lint(QUICK_START);
  assertEquals(findings.map(({ level, path, place }) => [level, path, place]), [
    ["warning", "spec.policy.cpu.requests.targetUtilization", { line: 19, column: 9 }],
  ]);
});

Deno.test("lint points at the field, and where there is none, at its parent", () => {
  const text = [
    "# of two spaces",
    "apiVersion: keda.kedify.io/v1alpha1",
    "kind: PodResourceAutoscaler",
    "metadata: {name: web, namespace: shop}",
    "spec:",
    "  paused: 'yes'",
    "  selector:",
    "    matchLabels: {app.kubernetes.io/name: web, tier: 5}",
    "    matchExpressions:",
    "    - {key: a, operator: Exists}",
    "    - key: b",
    "      operator: In",
    "      values: [c, 'd!']",
    "  policy:",
    "    cooldown: 5 m",
  ].join("\r\n");
  assertEquals(
    lint(text).findings.map(({ path, place: { line, column }, object }) => [path, line, column, object]),
    [
      ["spec.containerName", 5, 1, "shop/web"],
      ["spec.paused", 6, 3, "shop/web"],
      ["spec.selector.matchLabels.tier", 8, 48, "shop/web"],
      ["spec.selector.matchExpressions[1].values[1]", 13, 19, "shop/web"],
      ["spec.policy.pollInterval", 14, 3, "shop/web"],
      ["spec.policy.consecutiveSamples", 14, 3, "shop/web"],
      ["spec.policy", 14, 3, "shop/web"],
      ["spec.policy.cooldown", 15, 5, "shop/web"],
    ],
  );
});

Deno.test("lint points at a field whose name its path shows only in part", () => {
  for (const name of ["a\nb", "\u202egnp", "\u2028", "k".repeat(1000)]) {
    const text = JSON.stringify(toBrisk({ "spec.policy": { [name]: 1 } }), null, 1);
    const found = lint(text).findings.find(({ message }) => message.startsWith("Cannot use field"));
    assertEquals(found?.place.line, lineOf(text, JSON.stringify(name)), JSON.stringify(found));
  }
});

Deno.test("lint shows a field that is there twice as it shows any other, at its last place", () => {
  for (const name of ["\u202egnp", "k".repeat(1000)]) {
    const quoted = JSON.stringify(name);
    const text = EXAMPLE.replace("spec:\n", `spec:\n  ${quoted}: 1\n  ${quoted}: 1\n`);
    const [twice, unknown] = lint(text).findings;
    assertEquals([twice?.message.includes("twice"), twice?.path], [true, unknown?.path]);
    assertEquals(twice?.place.line, lineOf(text, "spec:") + 2);
  }
});

Deno.test("lint reads several documents, empty ones among them, and passes over other kinds", () => {
  const other = "apiVersion: apps/v1\nkind: Deployment\nspec: {a: 1, a: 2}\n";
  const text = ["", "# nothing\n", EXAMPLE, other, "[1]\n", QUICK_START, ""].join("---\n");
  assertEquals(countsOf(lint(text)), { autoscalers: 2, others: 2, errors: 0 });
  assertEquals(countsOf(lint("")), { autoscalers: 0, others: 0, errors: 0 });
});

Deno.test("lint opens lists, of which an item may leave its kind to the list", () => {
  const item = toBrisk({ "spec.policy.cooldown": "5m?" });
  const list = { apiVersion: "v1", kind: "List", items: [{ kind: "Foo" }, item, toBrisk({ "metadata.name": "b" })] };
  const text = JSON.stringify(list, null, 2);
  const { findings, ...counts } = lint(text);
  assertEquals(counts, { checked: new Map([["autoscaler" as const, 2]]), others: 1 });
  assertEquals(findings.map(({ path }) => path), ["spec.policy.cooldown"]);
  assertEquals(findings[0]?.place, { line: lineOf(text, "5m?"), column: 9 + 2 });
  const { apiVersion, kind, ...bare } = item;
  const own = lint(JSON.stringify({ apiVersion, kind: `${kind}List`, items: [bare] }));
  assertEquals(own.findings.map(({ path }) => path), ["spec.policy.cooldown"]);
  assertEquals(pathsOf({ ...item, apiVersion: undefined }), ["apiVersion", "spec.policy.cooldown"]);
});

Deno.test("lint knows an autoscaler of another version or group, with a slip in its kind, or without any", () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ["apiVersion", "keda.kedify.io/v1", "must be keda.kedify.io/v1alpha1"],
    ["apiVersion", "keda.sh/v1alpha1", "must be keda.kedify.io/v1alpha1"],
    ["apiVersion", undefined, "must be keda.kedify.io/v1alpha1"],
    ["kind", "PodResourceAutoScaler", "must be PodResourceAutoscaler"],
    ["kind", undefined, "must be PodResourceAutoscaler"],
  ];
  for (const [path, value, words] of cases) {
    const [finding] = lint(JSON.stringify(toBrisk({ [path]: value }))).findings;
    assertEquals(finding?.path, path);
    assertStringIncludes(finding?.message ?? "", words);
  }
});

Deno.test("lint finds metadata that the API server would refuse", () => {
  const cases: readonly (readonly [path: string, value: unknown])[] = [
    ["metadata", undefined],
    ["metadata", "web"],
    ["metadata.name", undefined],
    ["metadata.name", 5],
    ["metadata.lables", {}],
    ["metadata.labels", ["app"]],
    ["metadata.labels.app", "a b"],
    ["metadata.labels.a b", "a"],
    ["metadata.annotations.restarts", true],
    ["metadata.annotations.at", 5],
    ["metadata.generateName", 5],
  ];
  for (const [path, value] of cases.slice(0, -1)) assertEquals(pathsOf(toBrisk({ [path]: value })), [path]);
  const generated = { "metadata.name": undefined, "metadata.generateName": "Web-" };
  assertEquals(pathsOf(toBrisk(generated)), ["metadata.generateName"]);
  assertEquals(pathsOf(toBrisk({ ...generated, "metadata.generateName": "web-" })), []);
  assertEquals(pathsOf(toBrisk({ ...generated, "metadata.generateName": 5 })), ["metadata.name"]);
  const annotations = { note: "any text: at all", empty: "", nothing: null };
  assertEquals(pathsOf(toBrisk({ "metadata.annotations": annotations, "metadata.labels": { a: "", b: null } })), []);
});

Deno.test("lint warns of a second autoscaler of one name in one namespace", () => {
  const manifest = (namespace: string | undefined) => toYaml(toBrisk({ "metadata.namespace": namespace }));
  const texts = [manifest("a"), manifest("b"), `# the second\n${manifest("a")}`, manifest(undefined)];
  const { findings } = lintManifests(texts.map((text, index) => ({ name: `${index}.yaml`, text })));
  assertEquals(findings.map(({ file, place, level, path }) => [file, place.line, level, path]), [
    ["2.yaml", 5, "warning", "metadata.name"],
  ]);
  assertStringIncludes(findings[0]?.message ?? "", "0.yaml:4");
  const nameless = toYaml(toBrisk({ "metadata.name": undefined }));
  assertEquals(lint(`${nameless}---\n${nameless}`).findings.map(({ level }) => level), ["error", "error"]);
});

Deno.test("lint finds every error of the syntax, and goes on with the other documents", () => {
  const text = `a: b: c\nd: "e\n---\n${QUICK_START}---\na: @b\nc: \`d\n`;
  const { findings, checked } = lint(text);
  assertEquals(checked, new Map([["autoscaler" as const, 1]]));
  const errors = findings.filter(({ level }) => level === "error");
  assert(errors.every(({ message }) => message.startsWith("Cannot read YAML: ")), JSON.stringify(errors));
  assertEquals(errors.map(({ place }) => place.line), [1, 2, lineOf(text, "@b"), lineOf(text, "`d")]);
});

Deno.test("lint finds duplicate fields, which kubectl silently drops, at whatever depth", () => {
  const text = QUICK_START.replace("  containerName: my-app\n", "  containerName: other\n  containerName: my-app\n")
    .replace("min: 100m", "min: 100m\n        max: 3");
  const errors = lint(text).findings.filter(({ level }) => level === "error");
  assertEquals(errors.map(({ path, place }) => [path, place.line]), [
    ["spec.containerName", 11],
    ["spec.bounds.cpu.requests.max", 26],
  ]);
});

Deno.test("lint finds duplicate fields of the autoscaler of a list that has them, and passes over other kinds", () => {
  const item = (name: string, more = "") =>
    `- ${JSON.stringify(toBrisk({ "metadata.name": name, "spec.target.name": name })).slice(0, -1)}${more}}\n`;
  const list = ["kind: List\napiVersion: v1\nitems:\n", item("a"), item("b", ', "kind": "PodResourceAutoscaler"')];
  const { findings } = lint(`${list.join("")}- {kind: Foo, a: 1, a: 2}\n`);
  assertEquals(findings.map(({ object, path, place }) => [object, path, place.line]), [["b", "kind", 5]]);
});

Deno.test("lint resolves anchors, aliases and merged fields", () => {
  const text = QUICK_START.replace(
    "        scaleUpThreshold: 1\n",
    "        <<: [&up {scaleUpThreshold: 201}, {scaleUpThreshold: 2}]\n",
  )
    .replace("bounds:\n", "bounds: &bounds\n    memory: *bounds\n");
  const errors = lint(text).findings.filter(({ level }) => level === "error");
  assert(errors.some(({ path, place }) => path.endsWith(".scaleUpThreshold") && place.line >= 16), "merged");
  assert(errors.some(({ message }) => message.includes("levels deep")), "an alias of itself");
  const overridden = QUICK_START.replace(
    "        scaleUpThreshold: 1\n",
    "        scaleUpThreshold: 80\n        <<: {scaleUpThreshold: 201}\n",
  );
  assertEquals(countsOf(lint(overridden)).errors, 0);
  const { findings } = lint(QUICK_START.replace("name: my-app\n", "name: *nobody\n"));
  const message = `Cannot use alias "*nobody": no such anchor before it`;
  assertEquals(findings.find((finding) => finding.message === message)?.place, { line: 9, column: 11 });
});

Deno.test("lint does not read what would cost gigabytes, and says so on one line", () => {
  const { findings } = lint(`a: [${",".repeat(600_000)}]`);
  assertEquals(findings.map(({ level, place, message }) => [level, place, message]), [
    [
      "error",
      { line: 1, column: 1 },
      "Cannot read YAML: more than 500000 lines, fields and values, or long lines that begin with many spaces; split it",
    ],
  ]);
  const deep = lint("[".repeat(50_000) + "]".repeat(50_000)).findings;
  assertStringIncludes(deep[0]?.message ?? "", "Cannot read YAML: ");
});

Deno.test("lint bounds what aliases stand for, depth, and the findings of a document", () => {
  const level = (name: string, of: string) => `${name}: &${name} [${Array(9).fill(of)}]\n`;
  const bomb = level("a", "x") +
    ["b", "c", "d", "e", "f", "g", "h", "i"].map((name, index) => level(name, `*${"abcdefgh"[index]}`)).join("");
  const bombed = lint(`${bomb}---\n${QUICK_START}`);
  assertEquals(bombed.checked.get("autoscaler"), 1);
  assertStringIncludes(bombed.findings[0]?.message ?? "", "aliases that stand for more than 10000 values");
  for (const text of ["[".repeat(5000), "- ".repeat(5000), `a: ${"[".repeat(150)}${"]".repeat(150)}`]) {
    const { findings } = lint(text);
    assert(findings.length > 0 && findings.length <= 100, `${findings.length}`);
  }
});

Deno.test("lint takes a field's name for what it is, whatever it is", () => {
  const odd = { "a.b": 1, "__proto__x": 1, "a\nb": 1, "constructor": 1, 'quo"te': 1 };
  const text = toYaml({ ...toBrisk({}), ...odd });
  const { findings } = lint(text);
  assertEquals(findings.length, 5);
  for (const { path, place } of findings) {
    assert(place.line > 1, path);
    assertStringIncludes(text.split("\n")[place.line - 1] ?? "", path.slice(0, 1), path);
  }
  const labels = '{"example.com/a": "a b", example: web}';
  const [label] = lint(QUICK_START.replace("metadata:\n", `metadata:\n  labels: ${labels}\n`)).findings;
  assertEquals([label?.path, label?.place], ["metadata.labels.example.com/a", { line: 5, column: 12 }]);
  assertEquals(lint(QUICK_START.replace("spec:\n", "spec:\n  on: 1\n")).findings[0]?.path, "spec.true");
});

/** Every text in quotes, or some would be numbers. */
/** The base with a cooldown that no finding is about. */
function toBrisk(edits: Edits): Manifest {
  return toManifest({ "spec.policy.cooldown": "30s", ...edits });
}

function toYaml(manifest: unknown): string {
  return stringify(manifest, { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN", lineWidth: 0 });
}

function lineOf(text: string, part: string): number {
  return text.split("\n").findIndex((line) => line.includes(part)) + 1;
}

function lint(text: string): LintResult {
  return lintManifests([{ name: "pra.yaml", text }]);
}

function pathsOf(manifest: unknown): readonly string[] {
  return lint(JSON.stringify(manifest)).findings.map(({ path }) => path);
}

function countsOf({ findings, checked, others }: LintResult) {
  return {
    autoscalers: checked.get("autoscaler") ?? 0,
    others,
    errors: findings.filter(({ level }) => level === "error").length,
  };
}

function problemOf({ path, message }: Finding) {
  return { path, message };
}

function byPath(a: { readonly path: string; readonly message: string }, b: typeof a): number {
  return `${a.path} ${a.message}` < `${b.path} ${b.message}` ? -1 : 1;
}

/** The first and last line of a field in JSON of two spaces; where it is missing, its nearest parent's. */
function linesOf(text: string, path: string): readonly [number, number] {
  const lines = text.split("\n");
  let [first, last, depth] = [1, lines.length, 1];
  for (const key of path.match(/[^.[\]]+/g) ?? []) {
    const indent = "  ".repeat(depth++);
    const isItem = (line: string) => line.startsWith(indent) && !/^[ }\]]/.test(line.slice(indent.length));
    const within = lines.slice(first, last - 1).map((line, index) => ({ line, number: first + index + 1 }));
    const items = within.filter(({ line }) => isItem(line));
    const at = items.findIndex(({ line }, index) => line.startsWith(`${indent}"${key}":`) || `${index}` === key);
    const found = items[at];
    if (found === undefined) break;
    [first, last] = [found.number, (items[at + 1]?.number ?? last) - 1];
  }
  return [first, last];
}

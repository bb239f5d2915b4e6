/** What does a user of `podfit lint` read, and which code does it end with? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { type Ending, runPodfit } from "../../support/podfit_process.ts";
import { EXAMPLE, QUICK_START } from "../../support/manifests.ts";

const GOOD = QUICK_START.replace("scaleUpThreshold: 1\n", "scaleUpThreshold: 80\n");
const BAD = GOOD.replace("cooldown: 30s", "cooldown: 30s?").replace("my-app-pra", "slow");
const OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";

Deno.test("podfit lint prints findings to stdout and a summary to stderr, and ends with 1 on an error", async () => {
  await using folder = await writeFiles({ "bad.yaml": BAD, "good.yml": GOOD, "more.json": "{}", "notes.txt": "{" });
  const ending = await lint(["-f", folder.path]);
  assertEquals([ending.code, ending.stdout, ending.complaints], [
    1,
    `${folder.path}/bad.yaml:14:5: error: slow: spec.policy.cooldown: Cannot parse duration "30s?": unknown unit "s?"\n`,
    ["podfit: 2 autoscalers: 1 error, 0 warnings (1 other object passed over)"],
  ]);
});

Deno.test("a profile that does not exist is the one error of a manifest that leaves the rest to it", async () => {
  const spec = "{target: {kind: deployment, name: web}, profile: balancd, policy: {cooldown: 5m}}";
  const text =
    `apiVersion: keda.kedify.io/v1alpha1\nkind: PodResourceAutoscaler\nmetadata: {name: web}\nspec: ${spec}\n`;
  const { code, stdout } = await lint(["-f", "-"], text);
  assertEquals([code, stdout.trimEnd().split("\n").map((line) => line.replace(/^\S+ /, ""))], [1, [
    'error: web: spec.profile: Cannot use "balancd" as profile: must be one of latency, balanced, thrifty',
  ]]);
});

Deno.test("podfit lint prints what the page about CI shows", async () => {
  const text = QUICK_START.trimStart().replace("cooldown: 30s", "cooldown: 2 m").replace(
    "kind: deployment",
    "kind: Job",
  );
  await using folder = await writeFiles({ "my-app.yaml": text, "other.yaml": OTHER });
  const { stdout, complaints } = await lint(["-f", folder.path]);
  const shown = `${stdout.replaceAll(folder.path, "manifests")}${complaints.join("\n")}\n`;
  const page = await Deno.readTextFile(new URL("../../../docs/how-to/lint-in-ci.md", import.meta.url));
  assertStringIncludes(page, `\`\`\`text\n${shown}\`\`\`\n`);
});

Deno.test("podfit lint ends with 0 when there are warnings alone, and reads stdin", async () => {
  const { code, stdout, complaints } = await lint(["-f", "-"], QUICK_START);
  assertEquals([code, complaints], [0, ["podfit: 1 autoscaler: 0 errors, 1 warning"]]);
  assertStringIncludes(stdout, "<stdin>:19:9: warning: my-app-pra: spec.policy.cpu.requests.targetUtilization: ");
});

Deno.test("podfit lint ends with 2 when there is nothing to check, so that no typing error makes it green", async () => {
  await using folder = await writeFiles({ "other.yaml": OTHER });
  const { code, stdout, complaints } = await lint(["-f", folder.path]);
  assertEquals([code, stdout], [2, ""]);
  assertEquals(complaints, [
    "podfit: No PodResourceAutoscaler or ScaledObject found (1 other object passed over): nothing was checked; " +
    "name other files, or another namespace",
  ]);
});

Deno.test("podfit lint ends with 2 on a file that cannot be read, and still checks the others, each once", async () => {
  await using folder = await writeFiles({ "bad.yaml": BAD, "a.yaml": "#".repeat(17 * 2 ** 20) });
  await using empty = await writeFiles({});
  const file = `${folder.path}/bad.yaml`;
  const { code, stdout, complaints } = await lint([
    "-f",
    "/no/such.yaml",
    "-f",
    file,
    "-f",
    folder.path,
    "-f",
    empty.path,
  ]);
  assertEquals([code, stdout.split("\n").length], [2, 2]);
  assertEquals(complaints, [
    'podfit: Cannot read "/no/such.yaml": no such file or directory; check the path',
    `podfit: Cannot read "${folder.path}/a.yaml": larger than 16 MiB, split it`,
    `podfit: Cannot read "${empty.path}": no *.yaml, *.yml or *.json in it (what lies deeper is not read)`,
    "podfit: 1 autoscaler: 1 error, 0 warnings; not everything was checked",
  ]);
});

Deno.test("podfit lint says in one line what is wrong with its flags, the daemon's among them, and ends with 2", async () => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    ["Cannot lint: name files or directories, - for stdin, or add --cluster", "lint"],
    ["option '--all-namespaces' is about a cluster, add --cluster", "lint", "-f", "a.yaml", "-A"],
    [
      "Cannot use --all-namespaces with --namespace: one of them is enough",
      "lint",
      "--cluster",
      "-A",
      "-n",
      "shop",
    ],
    [
      'Cannot read --namespace "Shop": "Shop" is not a namespace name: lower case letters, digits and "-", at most 63',
      "lint",
      "--cluster",
      "-n",
      "Shop",
    ],
    ["unknown option '--dry-run'", "lint", "-f", "a.yaml", "--dry-run"],
  ];
  for (const [complaint, ...args] of cases) {
    const { code, stdout, complaints } = await runPodfit({ args });
    assertEquals([code, stdout, complaints], [2, "", [`podfit: ${complaint}; see podfit lint --help`]]);
  }
  const { code, stdout } = await lint(["--help"]);
  assertEquals(code, 0);
  assert(stdout.startsWith("Usage: podfit lint ") && stdout.includes("Exit codes:"), stdout);
});

Deno.test("podfit lint keeps a finding on its line, whatever a field is named", async () => {
  const { stdout } = await lint(["-f", "-"], EXAMPLE.replace("spec:\n", 'spec:\n  "a\\nb\\u2028c\\e[31m": 1\n'));
  const errors = stdout.split("\n").filter((line) => line.includes(" error: "));
  assertEquals(errors.length, 1);
  assert(!/[\p{Cc}\u2028]/u.test(errors[0] ?? ""), errors[0]);
});

Deno.test("podfit lint says once that a file is a Helm template, at its first action, and what to lint instead", async () => {
  const message = "error: this is a Helm template: check what Helm makes of it, " +
    "`helm template CHART | podfit lint -f -` [unreadable]\n";
  const cases: readonly (readonly [place: string, text: string])[] = [
    ["1:1", `{{- if .Values.enabled }}\n${EXAMPLE}{{- end }}\n`],
    ["3:9", "apiVersion: v1\nmetadata:\n  name: {{ .Release.Name }}\n"],
    ["3:5", 'kind: A\nmetadata:\n    {{- include "labels" . | nindent 4 }}\n'],
  ];
  for (const [place, text] of cases) {
    const { code, stdout } = await lint(["-f", "-"], text);
    assertEquals([code, stdout], [1, `<stdin>:${place}: ${message}`]);
  }
  const broken = await lint(["-f", "-"], "a: {{ b }\n");
  assertStringIncludes(broken.stdout, "Cannot read YAML: ");
  const quoted = await lint(["-f", "-"], `${EXAMPLE}---\nkind: A\ntext: "{{ .Values.a }}"\n`);
  assertEquals(quoted.stdout.includes("Helm"), false);
});

function lint(args: readonly string[], stdin?: string): Promise<Ending> {
  return runPodfit({ args: ["lint", ...args], permissions: "lint", ...(stdin !== undefined && { stdin }) });
}

async function writeFiles(files: Readonly<Record<string, string>>): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir();
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${path}/${name}`, text);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

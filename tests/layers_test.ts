/**
 * Do imports point the way the layers say, and are files small? Asked of the module graph that Deno itself builds of
 * main.ts and every file of lib.
 */
import { assert, assertEquals } from "#assert";
import { findCircles, findForbiddenImports, LAYERS, listReached, type ModuleGraph, toLayer } from "./support/layers.ts";

const ROOT = new URL("../", import.meta.url).href;
const MAX_LINES = 600;
/** Written by tools/generate.ts, and as long as the API is wide. */
const GENERATED = ["lib/api/kubernetes.ts", "lib/api/autoscaler.ts", "lib/api/scaled_object.ts"];

Deno.test("imports of main.ts and lib follow the layers", async () => {
  const files = await listSources();
  const graph = await readGraph(files);
  for (const file of files) assert(graph.modules.some((module) => module.specifier === ROOT + file), file);
  assertEquals(findForbiddenImports(graph, { root: ROOT, layers: LAYERS }), []);
});

Deno.test("the daemon reaches no embedded cluster, and main.ts loads none before a command asks for it", async () => {
  const graph = await readGraph(await listSources());
  const daemon = [...graph.modules].map((module) => module.specifier).filter((one) => layerOf(one) === "daemon");
  assert(daemon.length > 0);
  const reached = [...listReached(graph, daemon, { isLazy: true })].map(layerOf);
  assert(reached.includes("vertical") && reached.includes("kube"));
  assertEquals(reached.filter((layer) => layer?.startsWith("embedded")), []);
  const eager = [...listReached(graph, [`${ROOT}main.ts`], { isLazy: false })].map(layerOf);
  assert(eager.includes("daemon"));
  assertEquals(eager.filter((layer) => layer?.startsWith("embedded")), []);
});

Deno.test("the imports of main.ts and lib have no circle", async () => {
  const graph = await readGraph(await listSources());
  assertEquals(findCircles(graph, { root: ROOT }), []);
});

Deno.test("only a command or a kubeconfig that asks for it loads the YAML parser, which is one", async () => {
  const graph = await readGraph(await listSources());
  const reach = (isLazy: boolean) =>
    [...listReached(graph, [`${ROOT}main.ts`], { isLazy })].filter((one) => /^npm:.*yaml/.test(one)).length;
  assertEquals([reach(false), reach(true)], [0, 1]);
});

Deno.test("no file of lib is longer than 600 lines, except the generated ones", async () => {
  const files = (await listSources()).filter((file) => !GENERATED.includes(file));
  const counts = await Promise.all(files.map(async (file) => `${file}: ${countLines(await readText(file))}`));
  assertEquals(counts.filter((line) => Number(line.split(": ")[1]) > MAX_LINES), []);
});

/** Each file imports only files of steps above its own. A step is a file or a folder of that name. */
const STEPS: Readonly<Record<string, readonly string[]>> = {
  "lib/vertical": [
    "samples",
    "pressure",
    "windows",
    "streaks",
    "oom",
    "proposals",
    "sizing",
    "gates",
    "outcome",
    "notices",
    "recommend",
    "decide",
    "quiet",
  ],
  "lib/horizontal": [
    "replica_calculator",
    "behavior",
    "activation",
    "fallback",
    "initial_requests",
    "joint",
    "conditions",
    "decide",
  ],
};

Deno.test("the steps of both decisions import only steps above them", async () => {
  const arrows = listFileArrows(await readGraph(await listSources()));
  for (const [folder, steps] of Object.entries(STEPS)) {
    const stepOf = (file: string) => file.startsWith(`${folder}/`) ? toStep(file.slice(folder.length + 1)) : "";
    for (const step of steps) assert(arrows.some(([from]) => stepOf(from) === step), `${folder} has a step ${step}`);
    const ranked = arrows.map(([from, to]) => ({
      from,
      to,
      ranks: [from, to].map((file) => steps.indexOf(stepOf(file))),
    }));
    const upward = ranked.filter(({ ranks: [from = -1, to = -1] }) => from >= 0 && to > from);
    assertEquals(upward.map(({ from, to }) => `${from} -> ${to}`), []);
  }
});

/** `sizing/caps.ts` -> `sizing`. */
function toStep(file: string): string {
  return (file.split("/")[0] ?? "").replace(/\.ts$/, "");
}

Deno.test("no two folders of lib import each other, parent and child excepted", async () => {
  const folders = listFileArrows(await readGraph(await listSources())).map((arrow) => arrow.map(toFolder));
  const pairs = new Set(folders.map(([from, to]) => `${from} -> ${to}`));
  const isNested = (a: string, b: string) => a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
  const mutual = folders.filter(([from = "", to = ""]) =>
    from < to && !isNested(from, to) && pairs.has(`${to} -> ${from}`)
  );
  assertEquals([...new Set(mutual.map((pair) => pair.join(" <-> ")))], []);
});

function toFolder(file: string): string {
  return file.slice(0, file.lastIndexOf("/"));
}

const COMMANDS = [
  "run",
  "demo",
  "explain",
  "top",
  "record",
  "replay",
  "lint",
  "sample",
  "simulate",
  "suggest",
  "completion",
];

Deno.test("a command imports no other command, and what commands share imports no command", async () => {
  const arrows = listFileArrows(await readGraph(await listSources()));
  const roomOf = (file: string) => /^lib\/cli\/([^/]+)\//.exec(file)?.[1] ?? null;
  for (const command of COMMANDS) assert(arrows.some(([from]) => roomOf(from) === command), command);
  const wrong = arrows.filter(([from, to]) => {
    const room = roomOf(to);
    return room !== null && COMMANDS.includes(room) && roomOf(from) !== null && roomOf(from) !== room;
  });
  assertEquals(wrong.map((arrow) => arrow.join(" -> ")), []);
});

/** Each import of a file of lib by another one, also by `import()`: paths from the project's root. */
function listFileArrows({ modules }: ModuleGraph): readonly (readonly [from: string, to: string])[] {
  const inLib = (specifier: string) => specifier.startsWith(`${ROOT}lib/`);
  return modules.filter(({ specifier }) => inLib(specifier)).flatMap(({ specifier, dependencies = [] }) =>
    dependencies.flatMap(({ code, type }) => [code?.specifier, type?.specifier]).filter((one) => one !== undefined)
      .filter((one) => inLib(one) && one !== specifier)
      .map((one) => [specifier.slice(ROOT.length), one.slice(ROOT.length)] as const)
  );
}

Deno.test("countLines() counts as an editor does", () => {
  assertEquals([countLines(""), countLines("a\n"), countLines("a\nb"), countLines("a\n".repeat(601))], [0, 1, 2, 601]);
});

Deno.test("findForbiddenImports() reports each planted violation", () => {
  const cases: Readonly<Record<string, readonly [file: string, target: string, why: string]>> = {
    "vertical on kube": ["lib/vertical/a.ts", "file:///p/lib/kube/b.ts", "vertical may not import kube"],
    "vertical on runtime": ["lib/vertical/a.ts", "file:///p/lib/runtime/log.ts", "vertical may not import runtime"],
    "vertical on daemon": ["lib/vertical/a.ts", "file:///p/lib/daemon/b.ts", "vertical may not import daemon"],
    "embedded/model on vertical": [
      "lib/embedded/model/a.ts",
      "file:///p/lib/vertical/b.ts",
      "embedded/model may not import vertical",
    ],
    "embedded/model on kube": [
      "lib/embedded/model/a.ts",
      "file:///p/lib/kube/b.ts",
      "embedded/model may not import kube",
    ],
    "embedded/model on embedded": [
      "lib/embedded/model/a.ts",
      "file:///p/lib/embedded/server/b.ts",
      "embedded/model may not import embedded",
    ],
    "vertical on embedded/model": [
      "lib/vertical/a.ts",
      "file:///p/lib/embedded/model/b.ts",
      "vertical may not import embedded/model",
    ],
    "units on vertical": ["lib/units/a.ts", "file:///p/lib/vertical/b.ts", "units may not import vertical"],
    "api on units": ["lib/api/a.ts", "file:///p/lib/units/b.ts", "api may not import units"],
    "runtime on kube": ["lib/runtime/a.ts", "file:///p/lib/kube/b.ts", "runtime may not import kube"],
    "runtime on units": ["lib/runtime/a.ts", "file:///p/lib/units/b.ts", "runtime may not import units"],
    "kube on vertical": ["lib/kube/a.ts", "file:///p/lib/vertical/b.ts", "kube may not import vertical"],
    "kube on daemon": ["lib/kube/a.ts", "file:///p/lib/daemon/b.ts", "kube may not import daemon"],
    "daemon on cli": ["lib/daemon/a.ts", "file:///p/lib/cli/b.ts", "daemon may not import cli"],
    "daemon on embedded": ["lib/daemon/a.ts", "file:///p/lib/embedded/b.ts", "daemon may not import embedded"],
    "daemon on main": ["lib/daemon/a.ts", "file:///p/main.ts", "daemon may not import main"],
    "daemon on deno.json": ["lib/daemon/a.ts", "file:///p/deno.json", "daemon may not import project"],
    "embedded on vertical": [
      "lib/embedded/a.ts",
      "file:///p/lib/vertical/decide.ts",
      "embedded may not import vertical",
    ],
    "embedded on resources": [
      "lib/embedded/a.ts",
      "file:///p/lib/resources/bounds.ts",
      "embedded may not import resources",
    ],
    "embedded on daemon": ["lib/embedded/a.ts", "file:///p/lib/daemon/b.ts", "embedded may not import daemon"],
    "main on daemon": ["main.ts", "file:///p/lib/daemon/b.ts", "main may not import daemon"],
    "vertical on a package": ["lib/vertical/a.ts", "npm:/hono@4.13.19", 'vertical may not import "hono"'],
    "units on a scoped package": [
      "lib/units/a.ts",
      "npm:@logtape/logtape@2.4.2",
      'units may not import "@logtape/logtape"',
    ],
    "api on a built-in": ["lib/api/a.ts", "node:path", 'api may not import "node:path"'],
    "vertical on a part of a package": [
      "lib/vertical/a.ts",
      "npm:/deno-std@1.4.0/yaml/mod.js",
      'vertical may not import "deno-std"',
    ],
    "kube on the daemon's package": ["lib/kube/a.ts", "npm:/hono@4.13.19", 'kube may not import "hono"'],
    "kube on another built-in": ["lib/kube/a.ts", "node:child_process", 'kube may not import "node:child_process"'],
    "daemon on a web address": [
      "lib/daemon/a.ts",
      "https://deno.land/x.ts",
      'daemon may not import "https://deno.land/x.ts"',
    ],
    "lib on tests": [
      "lib/kube/a.ts",
      "file:///p/tests/support/b.ts",
      "kube may not import what is no part of the program",
    ],
    "lib on a foreign file": ["lib/cli/a.ts", "file:///q/b.ts", "cli may not import what is no part of the program"],
  };
  for (const [name, [file, target, why]] of Object.entries(cases)) {
    for (const key of ["code", "type"]) {
      const arrow = `${file} -> ${target.replace("file:///p/", "")}`;
      assertEquals(findForbiddenImports(plant({ [file]: [[key, target]] }), rules()), [`${arrow}: ${why}`], name);
    }
  }
});

Deno.test("findForbiddenImports() lets the arrows of the layers pass", () => {
  const graph = plant({
    "main.ts": [["code", "file:///p/lib/cli/a.ts"]],
    "lib/cli/a.ts": [["code", "file:///p/lib/embedded/a.ts"], ["code", "file:///p/deno.json"], [
      "code",
      "npm:/commander@15.1.0",
    ]],
    "lib/daemon/a.ts": [["code", "file:///p/lib/vertical/a.ts"], ["type", "file:///p/lib/daemon/b.ts"]],
    "lib/vertical/a.ts": [["code", "file:///p/lib/units/a.ts"], ["type", "file:///p/lib/api/a.ts"]],
    "lib/embedded/a.ts": [["code", "file:///p/lib/units/quantity.ts"], ["code", "node:timers"]],
    "lib/kube/a.ts": [["code", "file:///p/lib/runtime/clock.ts"], ["code", "node:https"]],
    "tests/a.ts": [["code", "file:///p/lib/kube/a.ts"], ["code", "npm:/fast-check@4.10.2"]],
  });
  assertEquals(findForbiddenImports(graph, rules()), []);
});

Deno.test("findForbiddenImports() reports a folder without a rule and a module that is not there", () => {
  assertEquals(findForbiddenImports(plant({ "lib/helpers/a.ts": [] }), rules()), [
    'lib/helpers/a.ts: layer "helpers" has no rule',
  ]);
  const modules = [{ specifier: "file:///p/lib/vertical/gone.ts", error: "Module not found" }];
  assertEquals(findForbiddenImports({ modules }, rules()), ["lib/vertical/gone.ts: Module not found"]);
});

Deno.test("findCircles() reports planted circles as paths, the shortest first", () => {
  const graph = plant({
    "main.ts": [["code", "file:///p/lib/cli/a.ts"]],
    "lib/cli/a.ts": [["code", "file:///p/lib/cli/b.ts"], ["code", "file:///p/lib/vertical/c.ts"]],
    "lib/cli/b.ts": [["type", "file:///p/lib/cli/c.ts"], ["code", "npm:/hono@4.13.19"]],
    "lib/cli/c.ts": [["code", "file:///p/lib/cli/a.ts"]],
    "lib/vertical/c.ts": [["type", "file:///p/lib/vertical/b.ts"]],
    "lib/vertical/b.ts": [["type", "file:///p/lib/vertical/c.ts"]],
    "lib/units/a.ts": [["code", "file:///p/lib/units/a.ts"]],
    "tests/a.ts": [["code", "file:///p/tests/b.ts"]],
    "tests/b.ts": [["code", "file:///p/tests/a.ts"]],
  });
  const circles = [
    "lib/units/a.ts -> lib/units/a.ts",
    "lib/vertical/b.ts -> lib/vertical/c.ts -> lib/vertical/b.ts",
    "lib/cli/a.ts -> lib/cli/b.ts -> lib/cli/c.ts -> lib/cli/a.ts",
  ];
  const root = "file:///p/";
  assertEquals(findCircles(graph, { root }), circles);
});

Deno.test("findCircles() finds none where two ways lead to one file", () => {
  const graph = plant({
    "main.ts": [["code", "file:///p/lib/cli/a.ts"], ["code", "file:///p/lib/cli/b.ts"]],
    "lib/cli/a.ts": [["code", "file:///p/lib/cli/b.ts"], ["code", "file:///p/lib/vertical/a.ts"]],
    "lib/cli/b.ts": [["code", "file:///p/lib/vertical/a.ts"]],
    "lib/vertical/a.ts": [],
  });
  const root = "file:///p/";
  assertEquals(findCircles(graph, { root }), []);
});

Deno.test("listReached() follows imports, import() only when asked to", () => {
  const lazy = { specifier: "./demo.ts", code: { specifier: "demo" }, isDynamic: true };
  const graph: ModuleGraph = {
    modules: [
      { specifier: "main", dependencies: [{ specifier: "./run.ts", code: { specifier: "run" } }, lazy] },
      { specifier: "run", dependencies: [{ specifier: "./types.ts", type: { specifier: "types" } }] },
      { specifier: "demo", dependencies: [{ specifier: "./sim.ts", code: { specifier: "sim" } }] },
    ],
  };
  assertEquals([...listReached(graph, ["main"], { isLazy: false })].sort(), ["main", "run", "types"]);
  assertEquals([...listReached(graph, ["main"], { isLazy: true })].sort(), ["demo", "main", "run", "sim", "types"]);
});

function rules() {
  return { root: "file:///p/", layers: LAYERS };
}

function plant(imports: Readonly<Record<string, readonly (readonly [string, string])[]>>): ModuleGraph {
  return {
    modules: Object.entries(imports).map(([file, targets]) => ({
      specifier: `file:///p/${file}`,
      dependencies: targets.map(([key, specifier]) => ({ specifier, [key]: { specifier } })),
    })),
  };
}

function layerOf(specifier: string): string | null {
  return specifier.startsWith(ROOT) ? toLayer(specifier.slice(ROOT.length)) : null;
}

function countLines(text: string): number {
  return text.split("\n").length - (text === "" || text.endsWith("\n") ? 1 : 0);
}

/** main.ts and every TypeScript file of lib. */
async function listSources(): Promise<readonly string[]> {
  const files = ["main.ts"];
  const folders = ["lib"];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
      if (isDirectory) folders.push(`${folder}/${name}`);
      else if (/\.tsx?$/.test(name)) files.push(`${folder}/${name}`);
    }
  }
  return files.sort();
}

/** One graph of all files, by way of a file that imports each: `deno info` takes one root. */
async function readGraph(files: readonly string[]): Promise<ModuleGraph> {
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(entry, files.map((file) => `import "${ROOT}${file}";\n`).join(""));
    const args = ["info", "--json", "--config", new URL("deno.json", ROOT).pathname, entry];
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    const decoder = new TextDecoder();
    if (!success) throw new Error(`Cannot read the module graph: ${decoder.decode(stderr)}`);
    return JSON.parse(decoder.decode(stdout));
  } finally {
    await Deno.remove(entry);
  }
}

function readText(file: string): Promise<string> {
  return Deno.readTextFile(new URL(file, ROOT));
}

/**
 * Which layer may import which, and where does a module graph of `deno info --json` break these rules? The decisions
 * (model, vertical, horizontal, resources) import nothing with I/O. The daemon imports neither the command line nor the
 * embedded cluster. Also finds circles of imports.
 */

/** What `deno info --json` says, as far as it is used here. */
export interface ModuleGraph {
  readonly modules: readonly GraphModule[];
  readonly redirects?: Readonly<Record<string, string>>;
}

export interface GraphModule {
  readonly specifier: string;
  readonly kind?: string;
  readonly error?: string;
  readonly dependencies?: readonly Dependency[];
}

interface Dependency {
  readonly specifier: string;
  readonly code?: { readonly specifier: string };
  readonly type?: { readonly specifier: string };
  readonly isDynamic?: boolean;
}

/** Where the project lies and what makes up its layers. */
export interface LayerRules {
  /** `file:///.../`, with the slash. */
  readonly root: string;
  readonly layers: Readonly<Record<string, LayerRule>>;
}

interface LayerRule {
  readonly layers: readonly string[];
  /** Packages and built-in modules, by name: `hono`, `node:path`. */
  readonly packages: readonly string[];
}

const PURE = ["api", "units"];

const ALL = [
  "api",
  "units",
  "formula",
  "model",
  "resources",
  "vertical",
  "horizontal",
  "record",
  "runtime",
  "kube",
  "usage",
  "triggers",
  "daemon",
  "embedded",
  "embedded/model",
  "simulate",
  "simulate/model",
  "cli",
];

/**
 * A layer may always import itself. `main` is main.ts; `project` is the files of the root, such as deno.json, and the
 * manifests.
 */
export const LAYERS: LayerRules["layers"] = {
  main: { layers: ["cli"], packages: [] },
  cli: { layers: [...ALL, "project"], packages: ["commander", "yaml"] },
  daemon: {
    layers: [...PURE, "model", "resources", "vertical", "horizontal", "record", "runtime", "kube", "usage", "triggers"],
    packages: ["hono", "node:crypto", "node:process", "node:stream", "node:tls", "node:zlib"],
  },
  embedded: {
    layers: [...PURE, "embedded/model", "simulate/model", "usage", "kube", "runtime"],
    packages: ["node:timers"],
  },
  simulate: { layers: [...PURE, "model", "vertical", "horizontal", "record", "simulate/model"], packages: [] },
  usage: { layers: [...PURE, "kube", "runtime"], packages: ["node:http", "node:https"] },
  triggers: { layers: [...PURE, "model", "resources", "kube", "runtime"], packages: ["node:dns/promises"] },
  kube: { layers: [...PURE, "runtime"], packages: ["openapi-fetch", "node:http", "node:https", "node:path"] },
  runtime: { layers: [], packages: ["@logtape/logtape", "node:timers", "yaml"] },
  record: { layers: [...PURE, "model", "formula"], packages: ["valibot"] },
  vertical: { layers: [...PURE, "model"], packages: [] },
  horizontal: { layers: [...PURE, "model"], packages: [] },
  resources: { layers: [...PURE, "model", "formula"], packages: [] },
  formula: { layers: [...PURE, "model"], packages: [] },
  model: { layers: PURE, packages: [] },
  "embedded/model": { layers: [...PURE, "simulate/model"], packages: [] },
  "simulate/model": { layers: PURE, packages: [] },
  units: { layers: ["api"], packages: [] },
  api: { layers: [], packages: [] },
};

/** One line per import that breaks a rule, e.g. `lib/model/a.ts -> lib/kube/b.ts: model may not import kube`. */
export function findForbiddenImports(graph: ModuleGraph, { root, layers }: LayerRules): readonly string[] {
  const found: string[] = [];
  for (const module of graph.modules) {
    if (module.error !== undefined) found.push(`${shorten(module.specifier, root)}: ${module.error}`);
    const file = shorten(module.specifier, root);
    const from = toLayer(file);
    // What packages import among themselves, and what only the tests are made of, is no layer's.
    if (from === null || from === "project") continue;
    const rule = layers[from];
    if (rule === undefined) {
      found.push(`${file}: layer "${from}" has no rule`);
      continue;
    }
    for (const target of listTargets(module)) {
      const why = judge({ from, rule, target: shorten(target, root) });
      if (why !== null) found.push(`${file} -> ${shorten(target, root)}: ${why}`);
    }
  }
  return [...new Set(found)].sort();
}

/** Every module that `from` reaches, itself included; imports of types too. `isLazy`: also by `import()`. */
export function listReached(
  graph: ModuleGraph,
  from: readonly string[],
  { isLazy }: { readonly isLazy: boolean },
): ReadonlySet<string> {
  const modules = new Map(graph.modules.map((module) => [module.specifier, module]));
  const reached = new Set<string>();
  const waiting = [...from];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    const module = modules.get(next);
    if (module === undefined) continue;
    const dependencies = (module.dependencies ?? []).filter((one) => isLazy || one.isDynamic !== true);
    waiting.push(...listTargets({ ...module, dependencies }));
  }
  return reached;
}

/** The files that each file of the program imports: values and types, also by `import()`. */
type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The circles of imports in main.ts and lib, e.g. `lib/a.ts -> lib/b.ts -> lib/a.ts`: the shortest first, and none that
 * needs an arrow of one found before. Without the arrows of all of them there is no circle. `root` ends with a slash.
 */
export function findCircles(graph: ModuleGraph, { root }: { readonly root: string }): readonly string[] {
  const arrows = new Map([...readArrows(graph, root)].map(([file, targets]) => [file, new Set(targets)]));
  const found: string[] = [];
  for (let circle = findShortestCircle(arrows); circle !== null; circle = findShortestCircle(arrows)) {
    found.push(circle);
    for (const [from, to] of toPairs(circle)) arrows.get(from)?.delete(to);
  }
  return found;
}

function readArrows(graph: ModuleGraph, root: string): Arrows {
  const files = graph.modules.filter(({ specifier }) => /^(main\.ts$|lib\/)/.test(shorten(specifier, root)));
  return new Map(
    files.map((module) => [
      shorten(module.specifier, root),
      new Set(listTargets(module).map((target) => shorten(target, root))),
    ]),
  );
}

/** Begins at the first of its files by name. */
function findShortestCircle(arrows: Arrows): string | null {
  const circles = [...arrows.keys()].sort().flatMap((file) => findWayBack(file, arrows) ?? []);
  const [shortest] = circles.sort((a, b) => a.split(ARROW).length - b.split(ARROW).length);
  return shortest ?? null;
}

/** One of the shortest, breadth first. */
function findWayBack(file: string, arrows: Arrows): string | null {
  const cameFrom = new Map<string, string>();
  const waiting = [file];
  for (const from of waiting) {
    for (const to of [...arrows.get(from) ?? []].sort()) {
      if (to === file) return formatWay(from, cameFrom, file);
      if (cameFrom.has(to) || !arrows.has(to)) continue;
      cameFrom.set(to, from);
      waiting.push(to);
    }
  }
  return null;
}

const ARROW = " -> ";

function formatWay(last: string, cameFrom: ReadonlyMap<string, string>, file: string): string {
  const way = [file];
  for (let at: string | undefined = last; at !== undefined && at !== file; at = cameFrom.get(at)) way.unshift(at);
  return [file, ...way].join(ARROW);
}

function toPairs(circle: string): readonly (readonly [string, string])[] {
  const files = circle.split(ARROW);
  return files.slice(1).map((to, at) => [files[at] ?? "", to]);
}

/** `lib/kube/client.ts` -> `kube`; `null` for what isn't the project's or no part of the program. */
export function toLayer(file: string): string | null {
  if (file === "main.ts") return "main";
  if (/^([^/:]+|(crds|deploy)\/.+)$/.test(file)) return "project";
  const match = /^lib\/((?:embedded|simulate)\/model|[^/]+)(\/|$)/.exec(file);
  return match?.[1] ?? null;
}

function judge(
  { from, rule, target }: { readonly from: string; readonly rule: LayerRule; readonly target: string },
): string | null {
  const name = toPackage(target);
  if (name !== null) return rule.packages.includes(name) ? null : `${from} may not import "${name}"`;
  const to = toLayer(target);
  if (to === from) return null;
  if (to === null) return `${from} may not import what is no part of the program`;
  return rule.layers.includes(to) ? null : `${from} may not import ${to}`;
}

/** `npm:/deno-std@1.4.0/yaml/mod.js` -> `deno-std`; `null` for a file. */
function toPackage(target: string): string | null {
  const match = /^(?:npm|jsr):\/?((?:@[^/]+\/)?[^@/]+)/.exec(target);
  if (match?.[1] !== undefined) return match[1];
  return /^[a-z]+:/.test(target) && !target.startsWith("file:") ? target : null;
}

function listTargets(module: GraphModule): readonly string[] {
  return (module.dependencies ?? []).flatMap((one) => {
    const targets = [one.code?.specifier, one.type?.specifier].filter((target) => target !== undefined);
    // Unresolved: what it says is judged.
    return targets.length > 0 ? targets : [one.specifier];
  });
}

function shorten(specifier: string, root: string): string {
  return specifier.startsWith(root) ? specifier.slice(root.length) : specifier;
}

/** Is what is impure reported in the pure layers, what prints past the writer in commands, and nothing that is harmless? */
import { assertEquals } from "#assert";
import plugin from "../../tools/lint_plugin.ts";

const PURE_FILES = [
  "/podfit/lib/vertical/sizing.ts",
  "/podfit/lib/units/quantity.ts",
  "/podfit/lib/horizontal/joint/x.ts",
  "/podfit/lib/embedded/model/node.ts",
  "/podfit/lib/model/state.ts",
  "/podfit/lib/resources/scaled_object/parse.ts",
  "/podfit/lib/simulate/simulate.ts",
  "/podfit/lib/simulate/model/meter.ts",
];
const OTHER_FILES = [
  "/podfit/lib/runtime/clock.ts",
  "/podfit/lib/kube/core/watch.ts",
  "/podfit/lib/vertical.ts",
  "/podfit/lib/unitsx/x.ts",
  "/podfit/lib/embedded/server/api.ts",
  "/podfit/lib/embedded/models/x.ts",
  "/podfit/tests/vertical/sizing_test.ts",
  "/podfit/lib/simulate/load/csv.ts",
  "/podfit/main.ts",
];

/** Source -> what its only report names. */
const IMPURE: Readonly<Record<string, string>> = {
  "Deno.readTextFileSync('x');": '"Deno"',
  "globalThis.Deno.exit();": '"globalThis"',
  "globalThis['fetch']('x');": '"globalThis"',
  "self.fetch('x');": '"self"',
  "fetch('x');": '"fetch"',
  "new WebSocket('ws://x');": '"WebSocket"',
  "const get = fetch;": '"fetch"',
  "run(fetch);": '"fetch"',
  "const { get = fetch } = ports;": '"fetch"',
  "const found = cache[fetch];": '"fetch"',
  "run({ fetch });": '"fetch"',
  "const { fetch } = globals;": '"fetch"',
  "const row = { [fetch]: 1 };": '"fetch"',
  "setTimeout(run, 1);": '"setTimeout"',
  "setInterval(run, 1);": '"setInterval"',
  "setImmediate(run);": '"setImmediate"',
  "queueMicrotask(run);": '"queueMicrotask"',
  "console.log(1);": '"console"',
  "crypto.randomUUID();": '"crypto"',
  "performance.now();": '"performance"',
  "process.hrtime();": '"process"',
  "eval('1');": '"eval"',
  "AbortSignal.timeout(1);": '"AbortSignal.timeout"',
  "Temporal.Now.instant();": '"Temporal.Now"',
  "Date.now();": '"Date.now"',
  "Date['now']();": '"Date.now"',
  "Date[name]();": '"Date.[...]"',
  "Date?.now();": '"Date.now"',
  "const now = Date.now;": '"Date.now"',
  "const { now } = Date;": '"Date" as a value',
  "new Date();": '"new Date()"',
  "new Date;": '"new Date()"',
  "new Date(...parts);": '"new Date()"',
  "Date();": '"Date()"',
  "Math.random();": '"Math.random"',
  "Math['random']();": '"Math.random"',
  "const { random } = Math;": '"Math" as a value',
  "async function read() {}": "async",
  "const read = async () => {};": "async",
  "const read = async function () {};": "async",
  "class Reader { async read() {} }": "async",
  "class Reader { static async read() {} }": "async",
  "const reader = { async read() {} };": "async",
  "const reader = { read: async () => {} };": "async",
  "async function* read() {}": "async",
  "await read();": "await",
  "for await (const one of all) {}": "for await",
  "await using lock = take();": "await using",
  "new Promise(run);": '"Promise"',
  "Promise.resolve(1);": '"Promise"',
  "function read(): Promise<void> { return later(); }": '"Promise"',
  "const later = import('./x.ts');": "import()",
  "const here = import.meta.url;": "import.meta",
  "import { setTimeout as wait } from 'node:timers';": 'Import of "node:timers"',
  "import 'node:fs';": 'Import of "node:fs"',
  "import * as fs from 'npm:fs-extra';": 'Import of "npm:fs-extra"',
  "import { parse } from '#yaml';": 'Import of "#yaml"',
  "export { readFile } from 'node:fs';": 'Import of "node:fs"',
  "export * from 'node:fs';": 'Import of "node:fs"',
  "let count = 0;": "Module state",
  "export let count = 0;": "Module state",
  "var count = 0;": "Module state",
};

const HARMLESS: readonly string[] = [
  "const at = Date.parse('2026-01-01T00:00:00Z');",
  "const at = Date.UTC(2026, 0);",
  "const text = new Date(at).toISOString();",
  "const isDate = value instanceof Date;",
  "function format(at: Date): string { return at.toISOString(); }",
  "const most = Math.max(1, 2);",
  "const floor = Math['floor'](1.5);",
  "const value = ports.fetch;",
  "const value = pod.process.console;",
  "const row = { process: 1, fetch: 2, console() {} };",
  "interface Row { readonly performance: number; fetch(): void }",
  "class Row { process = 1; fetch() {} }",
  "const { process: name } = row;",
  "import { parse } from './quantity.ts';",
  "import type { Pod } from '../api/kubernetes.ts';",
  "export { parse } from './quantity.ts';",
  "export * from './quantity.ts';",
  "const limits = new Map<string, number>();",
  "function sum() { let total = 0; for (const one of all) total += one; return total; }",
  "function* list() { yield 1; }",
  "using held = take();",
  "const now = state.now;",
  "const Dates = 'Date.now() and await fetch()'; // setTimeout",
  "function* walk() { for (let i = 0; i < 3; i++) yield i; }",
];

Deno.test("pure reports each impure thing once in core and units", () => {
  for (const [source, what] of Object.entries(IMPURE)) {
    const message = `${what} in a pure layer: the shell gathers it and passes the value in`;
    for (const file of PURE_FILES) assertEquals(lint(file, source), [message], `${file}: ${source}`);
  }
});

Deno.test("pure reports nothing of it elsewhere", () => {
  for (const source of Object.keys(IMPURE)) {
    for (const file of OTHER_FILES) assertEquals(lint(file, source), [], `${file}: ${source}`);
  }
});

Deno.test("pure reports no harmless code", () => {
  for (const source of HARMLESS) {
    for (const file of PURE_FILES) assertEquals(lint(file, source), [], source);
  }
});

/** Source in a command -> what its only report names. */
const PRINTS: Readonly<Record<string, string>> = {
  "Deno.stdout.writeSync(bytes);": '"Deno.stdout"',
  "await Deno.stderr.write(bytes);": '"Deno.stderr"',
  "await body.pipeTo(Deno.stdout.writable);": '"Deno.stdout"',
  "const out = Deno.stdout;": '"Deno.stdout"',
  "const { stdout } = Deno;": '"Deno.stdout"',
  "const { stderr: said } = globalThis.Deno;": '"Deno.stderr"',
  "globalThis.Deno.stdout.writeSync(bytes);": '"Deno.stdout"',
  "Deno['stdout'].writeSync(bytes);": '"Deno.stdout"',
  "process.stdout.write('x');": '"process.stdout"',
  "console.log('x');": '"console"',
  "const { error } = console;": '"console"',
  "import { stdout } from 'node:process';": '"node:process"',
  "const bold = '\\x1b[1m';": "A control sequence",
  "const bold = `\\u001b[1m${text}`;": "A control sequence",
  "const clear = '\\u{9b}2J';": "A control sequence",
};

const NO_PRINTS: readonly string[] = [
  "const isTerminal = Deno.stdout.isTerminal();",
  "const { stdout } = await command.output();",
  "const { code, stdout: out } = ended;",
  "const text = child.stderr;",
  "const rows = view.console;",
  "writeOutput('a\\n\\tb');",
];

Deno.test("output reports what prints past the writer of commands, once, and nothing in the writer", () => {
  for (const [source, what] of Object.entries(PRINTS)) {
    const message = `${what}: print through lib/cli/terminal/output.ts`;
    for (const file of ["/podfit/lib/cli/top/top.ts", "/podfit/lib/cli/main.ts"]) {
      assertEquals(lint(file, source), [message], `${file}: ${source}`);
    }
    for (const file of ["/podfit/lib/cli/terminal/output.ts", "/podfit/tools/image/main.ts"]) {
      assertEquals(lint(file, source), [], `${file}: ${source}`);
    }
  }
  const file = "/podfit/lib/kube/watch.ts";
  assertEquals(lint(file, "Deno.stderr.writeSync(x);"), ['"Deno.stderr": print through lib/cli/terminal/output.ts']);
});

Deno.test("output reports nothing that does not print", () => {
  for (const source of NO_PRINTS) assertEquals(lint("/podfit/lib/cli/top/top.ts", source), [], source);
});

Deno.test("no file of lib prints past the writer", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["lint", "--json", "--rules-include=no-console", "lib"],
    cwd: new URL("../../", import.meta.url).pathname,
  }).output();
  const { diagnostics, errors } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals([code, diagnostics, errors], [0, [], []], new TextDecoder().decode(stderr));
});

Deno.test("deno.json runs the plugin over lib", async () => {
  const { lint: { plugins, exclude } } = JSON.parse(
    await Deno.readTextFile(new URL("../../deno.json", import.meta.url)),
  );
  assertEquals(plugins, ["./tools/lint_plugin.ts"]);
  assertEquals(exclude.filter((path: string) => /^lib\/(core|units)|^lib\/?$/.test(path)), []);
});

function lint(file: string, source: string): readonly string[] {
  return Deno.lint.runPlugin(plugin, file, source).map((found) => found.message);
}

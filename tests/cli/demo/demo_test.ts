/** `podfit demo` as a process without a terminal: over HTTPS on the real clock, with the permissions of its task. */
import { assert, assertEquals, assertMatch, assertRejects } from "#assert";
import { StartError } from "../../../lib/cli/command/process.ts";
import { loadDemo } from "../../../lib/cli/commands.ts";
import { runPodfit } from "../../support/podfit_process.ts";

const ROOT = new URL("../../../", import.meta.url);

Deno.test("podfit demo resizes what it shows, ends by itself with the totals, and exits with 0", async () => {
  await using child = startDemo(["--seconds", "6"]);
  const [{ code }, out, complaints] = await Promise.all([
    child.status,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  assertEquals([code, complaints], [0, ""]);
  const lines = out.split("\n");
  assert(lines.some((line) => /^\+0[01]m\d\ds web {4}↓ cpu\.requests 600m → \d+m/.test(line)), out);
  const total = Number(/^resizes (\d+) \(\d+ up, \d+ down\)/m.exec(out)?.[1]);
  assertEquals(lines.filter((line) => /^\+\d\dm\d\ds \w+ +[↑↓] /.test(line)).length, total);
  assert(total >= 3, out);
  // On the real clock a busy machine starts the last pod after the first reading, so the mean may be a little lower.
  assertMatch(out, /^CPU requested, on average +\d+m +15[0-5]\dm +\d+ % given back$/m);
  assertMatch(out, /^What to try next$/m);
  assert(!out.includes("\x1b"), "an escape sequence where there is no terminal");
});

Deno.test("podfit demo --scene both tells of sizes and of the number of pods, and counts what it told", async () => {
  await using child = startDemo(["--scene", "both", "--speed", "60", "--seconds", "13"]);
  const [{ code }, out, complaints] = await Promise.all([
    child.status,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  assertEquals([code, complaints], [0, ""]);
  const lines = out.split("\n");
  const first = (what: RegExp) => lines.findIndex((line) => what.test(line));
  const told = (what: RegExp) => lines.filter((line) => what.test(line)).length;
  assert(first(/ ‖ VerticalFirst {2}1 at full size is enough, at initial size it takes \d/) > 0, out);
  assert(
    first(/ ‖ VerticalFirst/) < first(/ ↑ 1 → \d pods {2}ScaledOut: at full size it takes \d, at initial size \d/),
    out,
  );
  assertEquals(told(/^\+\d\dm\d\ds shop {3}[↑↓] /), Number(/ {3}replicas (\d+) \(/.exec(out)?.[1]), out);
  assertEquals(told(/^\+\d\dm\d\ds \w{5} {2}[↑↓] /), Number(/^resizes (\d+) \(/m.exec(out)?.[1]), out);
  assertMatch(out, /^most pods at one time +[23] +\d+ +\d fewer$/m);
  assert(!out.includes("\x1b"), "an escape sequence where there is no terminal");
});

Deno.test("podfit demo --keep ends by a signal, within a second, with the totals and code 0", async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    await using child = startDemo(["--keep", "--seconds", "1", "--speed", "60"]);
    const complaints = new Response(child.stderr).text();
    let [out, toldMs] = ["", 0];
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      out += part;
      if (toldMs > 0 || !out.includes("↓")) continue;
      child.kill(signal);
      toldMs = performance.now();
    }
    const { code } = await child.status;
    const tookMs = performance.now() - toldMs;
    assertEquals([code, await complaints], [0, ""]);
    assertMatch(out, /^resizes [1-9]/m);
    assert(tookMs < 1000, `${signal}: ${tookMs} ms`);
  }
});

Deno.test("podfit demo ends when nobody reads any more", async () => {
  await using child = startDemo(["--keep"]);
  await child.stdout.cancel();
  const [{ code }, complaints] = await Promise.all([child.status, new Response(child.stderr).text()]);
  assertEquals([code, complaints], [0, ""]);
});

Deno.test("podfit demo takes none of the daemon's flags and no argument, and says so in one line", async () => {
  const cases: readonly (readonly [args: readonly string[], complaint: string])[] = [
    [
      ["--dry-run", "demo"],
      `podfit: '--dry-run' is a flag of the daemon, which is a command now: write "podfit run --dry-run ..."; see podfit --help`,
    ],
    [["demo", "--dry-run"], "podfit: unknown option '--dry-run'; see podfit demo --help"],
    [
      ["demo", "--speed", "fast"],
      'podfit: Cannot read --speed "fast": write a number from 1 to 60; see podfit demo --help',
    ],
    [["demo", "--scene", "all"], 'podfit: Cannot read --scene "all": write sizes or both; see podfit demo --help'],
  ];
  for (const [args, complaint] of cases) {
    const { code, stdout, complaints } = await runPodfit({ args });
    assertEquals([code, stdout, complaints], [2, "", [complaint]]);
  }
});

function startDemo(args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=demo", "main.ts", "demo", ...args],
    cwd: ROOT.pathname,
    env: { DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("a build without the demo says where the demo is", async () => {
  const missing = Object.assign(new TypeError('Module not found "file:///demo.js"'), { code: "ERR_MODULE_NOT_FOUND" });
  const error = await assertRejects(() => loadDemo(() => Promise.reject(missing)), StartError);
  assertEquals(error.message, 'This build of podfit has no demo: run it from the source tree, "deno task demo"');
  assertEquals(error.cause, missing);
});

Deno.test("a demo that is there and does not load is not called missing", async () => {
  const broken = new ReferenceError("Cannot access 'PLAIN' before initialization");
  assertEquals(await assertRejects(() => loadDemo(() => Promise.reject(broken)), ReferenceError), broken);
});

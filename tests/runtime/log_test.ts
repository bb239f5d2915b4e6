import { assert, assertEquals, assertStringIncludes } from "#assert";
import { createLog, type Log, type LogFormat, type LogLevel } from "../../lib/runtime/log.ts";
import { VIRTUAL_START_AT } from "../support/virtual_clock.ts";
import { UNSEEN } from "../support/hostile_text.ts";

interface Captured {
  readonly log: Log;
  readonly lines: string[];
}

function capture(format: LogFormat, level: LogLevel = "info"): Captured {
  const lines: string[] = [];
  return {
    log: createLog({ level, format, clock: { now: () => VIRTUAL_START_AT }, write: (line) => lines.push(line) }),
    lines,
  };
}

function jsonOf(fields: Record<string, unknown>, level: LogLevel = "info"): Record<string, unknown> {
  const { log, lines } = capture("json", level);
  log.error("Said", fields);
  const { "@timestamp": _at, level: _level, message: _message, logger: _logger, ...rest } = JSON.parse(lines[0] ?? "");
  return rest;
}

function textOf(fields: Record<string, unknown>): string {
  const { log, lines } = capture("text");
  log.error("Said", fields);
  return (lines[0] ?? "").replace("2026-11-20T11:00:00.000Z ERROR Said", "").trim();
}

Deno.test("createLog() writes one text line per message: time, level, message, fields", () => {
  const { log, lines } = capture("text", "debug");
  log.info("Resized pod", { autoscaler: "shop/cart", pod: "cart-5d9c" });
  log.warn("Degraded");
  log.error("Failed");
  log.debug("Held", { streak: 2, isNew: true, until: null });
  assertEquals(lines, [
    "2026-11-20T11:00:00.000Z INFO  Resized pod autoscaler=shop/cart pod=cart-5d9c\n",
    "2026-11-20T11:00:00.000Z WARN  Degraded\n",
    "2026-11-20T11:00:00.000Z ERROR Failed\n",
    "2026-11-20T11:00:00.000Z DEBUG Held streak=2 isNew=true until=null\n",
  ]);
});

Deno.test("createLog() writes one JSON line per message, fields beside the message", () => {
  const { log, lines } = capture("json");
  log.warn("Resized pod", { autoscaler: "shop/cart", from: { cpu: 100 }, to: [1, 2], at: new Date(VIRTUAL_START_AT) });
  assertEquals(lines.length, 1);
  assertEquals(JSON.parse(lines[0] ?? ""), {
    "@timestamp": "2026-11-20T11:00:00.000Z",
    level: "WARN",
    message: "Resized pod",
    logger: "podfit",
    autoscaler: "shop/cart",
    from: { cpu: 100 },
    to: [1, 2],
    at: "2026-11-20T11:00:00.000Z",
  });
  assert(lines[0]?.endsWith("}\n"));
});

Deno.test("createLog() drops what is below its level", () => {
  const written: Readonly<Record<LogLevel, string>> = { debug: "diwe", info: "iwe", warn: "we", error: "e" };
  for (const [level, expected] of Object.entries(written)) {
    const { log, lines } = capture("json", level as LogLevel);
    log.debug("d");
    log.info("i");
    log.warn("w");
    log.error("e");
    assertEquals(lines.map((line) => JSON.parse(line).message).join(""), expected);
  }
});

Deno.test("createLog() makes logs that know nothing of each other", () => {
  const [a, b] = [capture("text", "error"), capture("json", "debug")];
  a.log.info("to a");
  b.log.info("to b");
  assertEquals([a.lines.length, b.lines.length], [0, 1]);
});

Deno.test("Log.with() adds fields to every message of the new log, the message's own win", () => {
  const { log, lines } = capture("text");
  const bound = log.with({ node: "n1" }).with({ pod: "p1" });
  bound.info("A", { pod: "p2" });
  log.info("B");
  assertEquals(lines.map((line) => line.slice(31)), ["A node=n1 pod=p2\n", "B\n"]);
});

Deno.test("text fields are quoted where they would be ambiguous", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    ["250m", "250m"],
    ["100m -> 200m", '"100m -> 200m"'],
    ["", '""'],
    ['say "hi"', String.raw`"say \"hi\""`],
    ["a=b", '"a=b"'],
    [{ cpu: "1" }, '{"cpu":"1"}'],
    [12n, "12"],
    [new Map([["a", new Set([1])]]), '{"a":[1]}'],
    [new URL("https://h/p"), "https://h/p"],
  ];
  for (const [value, text] of cases) assertEquals(textOf({ key: value }), `key=${text}`);
  assertEquals(textOf({ 'a b="c': 1, gone: undefined }), String.raw`"a b=\"c"=1`);
});

Deno.test("text from outside cannot forge a line or drive a terminal, in either format", () => {
  const evil = "x\n2026-11-20T11:00:00.000Z ERROR forged\r\u2028\u2029\u0085\u001b[2J\u009b1m\u007f\u202e\u2066\u200b";
  for (const format of ["text", "json"] as const) {
    const { log, lines } = capture(format);
    log.info(evil, { [evil]: evil, list: [evil], error: new Error(evil, { cause: evil }) });
    const line = lines.join("");
    assertEquals(line.indexOf("\n"), line.length - 1);
    assertEquals(UNSEEN.exec(line), null);
    if (format === "json") assertEquals(JSON.parse(line)[evil], evil);
  }
});

Deno.test("a field cannot replace what every JSON line carries", () => {
  const { log, lines } = capture("json");
  log.info("Said", { message: "m", level: "l", logger: "g", "@timestamp": "t" });
  const { message, level, logger, message_, level_ } = JSON.parse(lines[0] ?? "");
  assertEquals([message, level, logger, message_, level_], ["Said", "INFO", "podfit", "m", "l"]);
});

Deno.test("an error is logged with its chain of causes, and without a stack above debug", () => {
  const error = new Error("Cannot list pods", { cause: new TypeError("connection refused", { cause: "reset" }) });
  assertEquals(textOf({ error }), 'error="Cannot list pods: connection refused: reset"');
  assertEquals(jsonOf({ error }), {
    error: {
      name: "Error",
      message: "Cannot list pods",
      cause: { name: "TypeError", message: "connection refused", cause: "reset" },
    },
  });
});

Deno.test("an error's text says no cause twice and names every error of an aggregate", () => {
  const cause = new Error("refused");
  assertEquals(textOf({ error: new Error("Cannot dial: refused", { cause }) }), 'error="Cannot dial: refused"');
  assertEquals(
    textOf({ error: new AggregateError([cause, new Error("reset")], "All failed") }),
    'error="All failed: refused; reset"',
  );
  assertEquals(textOf({ error: new TypeError("") }), "error=TypeError");
});

Deno.test("an error is logged with its stack at debug", () => {
  const error = new Error("broken", { cause: new Error("why") });
  const { error: logged } = jsonOf({ error }, "debug") as { error: { stack: string; cause: { stack: string } } };
  assertStringIncludes(logged.stack, "log_test.ts");
  assertStringIncludes(logged.cause.stack, "log_test.ts");
  const { log, lines } = capture("text", "debug");
  log.error("Said", { error });
  assertStringIncludes(lines[0] ?? "", String.raw`error="broken: why\nError: broken\n`);
});

Deno.test("values from outside are bounded: circular, deep, long and wide", () => {
  const circular: Record<string, unknown> = { name: "c" };
  circular["self"] = circular;
  const loop = new Error("loop");
  loop.cause = loop;
  for (const format of ["text", "json"] as const) {
    const { log, lines } = capture(format);
    log.info("Said", { circular, loop, long: "x".repeat(1e6), wide: Array(1e5).fill(1) });
    assert((lines[0]?.length ?? Infinity) < 10_000, format);
    assertStringIncludes(lines[0] ?? "", "(1000000 characters)");
  }
});

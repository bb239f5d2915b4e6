/** Arguments of explain and top: what is taken, and what ends with code 2. */
import { assertEquals, assertMatch } from "#assert";
import { CommanderError } from "commander";
import { createExplainCommand, type ExplainOptions } from "../../../lib/cli/explain/options.ts";
import { createProgram } from "../../../lib/cli/run/options.ts";
import { createTopCommand, type TopOptions } from "../../../lib/cli/top/options.ts";

interface Parsed {
  readonly explain: ExplainOptions | null;
  readonly top: TopOptions | null;
  readonly code: number | null;
  readonly said: string;
}

async function parse(...args: readonly string[]): Promise<Parsed> {
  let parsed: Parsed = { explain: null, top: null, code: null, said: "" };
  const getEnv = () => undefined;
  const program = createProgram(getEnv, {
    run: () => Promise.resolve(),
    commands: (context) => [
      createExplainCommand(context, (explain) => Promise.resolve(void (parsed = { ...parsed, explain }))),
      createTopCommand(context, (top) => Promise.resolve(void (parsed = { ...parsed, top }))),
    ],
  }).exitOverride();
  for (const command of program.commands) {
    const { outputError = () => {} } = command.configureOutput();
    command.configureOutput({ outputError: (text) => outputError(text, (said) => parsed = { ...parsed, said }) });
  }
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    parsed = { ...parsed, code: error.exitCode };
  }
  return parsed;
}

const SUBJECTS = {
  "web-1": { kind: "pod", name: "web-1" },
  "deploy/web": { kind: "deployment", name: "web" },
  "ds/log": { kind: "daemonset", name: "log" },
  "ScaledObject/web": { kind: "scaledobject", name: "web" },
  "deploy web": { kind: "deployment", name: "web" },
  "pra/web": { kind: "podresourceautoscaler", name: "web" },
  "pod web-1": { kind: "pod", name: "web-1" },
};

const URLS = { "127.0.0.1:8081/": "http://127.0.0.1:8081", "https://podfit/a/": "https://podfit/a" };

for (const [text, url] of Object.entries(URLS)) {
  Deno.test(`--url ${text} is ${url}`, async () => {
    assertEquals((await parse("top", "--url", text)).top?.access.url, url);
  });
}

for (const [text, subject] of Object.entries(SUBJECTS)) {
  Deno.test(`explain ${text} is about ${subject.kind} ${subject.name}`, async () => {
    assertEquals((await parse("explain", ...text.split(" "))).explain?.subject, subject);
  });
}

Deno.test("explain searches other kinds for a name that was typed without a kind only", async () => {
  assertEquals((await parse("explain", "web")).explain?.isBare, true);
  for (const words of [["pod/web"], ["pod", "web"], ["pra", "web"]]) {
    assertEquals((await parse("explain", ...words)).explain?.isBare, false, words.join(" "));
  }
});

Deno.test("top takes kubectl's formats and labels", async () => {
  const { top } = await parse("top", "-o", "wide", "--no-headers", "-l", "app=web", "-w");
  assertEquals([top?.format, top?.hasHeaders, top?.selector?.requirements[0]?.key, top?.watches], [
    "wide",
    false,
    "app",
    true,
  ]);
  const plain = (await parse("top")).top;
  assertEquals([plain?.format, plain?.hasHeaders, plain?.selector], ["text", true, null]);
});

Deno.test("explain takes its flags, and top its own", async () => {
  const { explain } = await parse(
    "explain",
    "web",
    "-n",
    "shop",
    "--watch",
    "-o",
    "json",
    "--url",
    "http://127.0.0.1:8081",
  );
  assertEquals(
    [explain?.access.namespace, explain?.watches, explain?.format, explain?.access.url],
    ["shop", true, "json", "http://127.0.0.1:8081"],
  );
  const { top } = await parse("top", "-A", "--sort", "wanted", "--filter", "web");
  assertEquals([top?.isEveryNamespace, top?.sort, top?.filter, top?.access.namespace], [true, "wanted", "web", null]);
});

const REFUSED: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
  "no subject": [["explain"], /missing required argument 'subject'; see podfit explain --help/],
  "a kind that is none": [
    ["explain", "node/a"],
    /Cannot read "node\/a": write POD, pod\/NAME, deployment\/NAME, statefulset\/NAME, daemonset\/NAME, scaledobject\/NAME or/,
  ],
  "a name that is none": [["explain", "pod/A_b"], /Cannot read pod "A_b": it is not a name of a pod/],
  "a look that is watched": [
    ["explain", "web", "--watch", "--without-daemon"],
    /Cannot use --watch with --without-daemon/,
  ],
  "an address that is none": [
    ["explain", "web", "--url", "ftp://podfit"],
    /Cannot read --url "ftp:\/\/podfit": write an address such as http:\/\/127\.0\.0\.1:8081/,
  ],
  "a token for nobody": [["explain", "web", "--token-file", "t"], /Cannot use --token-file without --url/],
  "an order that is none": [["top", "--sort", "age"], /--sort "age"/],
  "one namespace and all": [["top", "-A", "-n", "shop"], /Cannot use --all-namespaces with --namespace/],
};

for (const [what, [args, message]] of Object.entries(REFUSED)) {
  Deno.test(`explain and top end with code 2 for ${what}`, async () => {
    const { code, said, explain, top } = await parse(...args);
    assertMatch(said, message);
    assertEquals([code, explain, top], [2, null, null]);
  });
}

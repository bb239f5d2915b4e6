/** Are the commands of a page found, and is what it shows of their output what they printed? */
import { assertEquals, assertThrows } from "#assert";
import {
  fillOutput,
  listSteps,
  listUnprinted,
  matchSteps,
  parseTranscript,
  toScript,
  toShape,
} from "../../tools/docs/commands.ts";

const PAGE = [
  "Install:",
  "",
  "```console",
  "$ helm install podfit \\",
  ">   deploy/helm",
  "NAME: podfit",
  "...",
  "pod/podfit-7fb94f694f-5cjhl   Running   2s",
  "$ true",
  "```",
  "",
  "<!-- not run: needs a registry -->",
  "```sh",
  "docker push registry.example/podfit",
  "```",
  "",
  "```yaml",
  "kind: Pod",
  "```",
  "",
  "```sh",
  "sleep 0",
  "echo end",
  "```",
  "",
].join("\n");

const TRANSCRIPT = [
  "$ helm install podfit \\",
  ">   deploy/helm",
  "NAME: podfit",
  "STATUS: deployed",
  "pod/podfit-cd7b7ccfb-7ccxs   Running   12s",
  "$ true",
  "$ sleep 0",
  "> echo end",
  "end",
  "",
].join("\n");

Deno.test("listSteps() takes sh and console blocks, and leaves out what is not run", () => {
  assertEquals(listSteps(PAGE), [
    {
      command: "helm install podfit \\\n  deploy/helm",
      shown: ["NAME: podfit", "...", "pod/podfit-7fb94f694f-5cjhl   Running   2s"],
    },
    { command: "true", shown: [] },
    { command: "sleep 0\necho end", shown: [] },
  ]);
});

const COPIED = [
  "```sh",
  "POD=hello",
  "kubectl get pod \\",
  "  $POD",
  "```",
  "",
  "```text",
  "NAME    AGE",
  "hello   71s",
  "```",
  "",
  "```sh",
  "sleep 0",
  "```",
  "",
  "An output of no command:",
  "",
  "```text",
  "end",
  "```",
  "",
].join("\n");

Deno.test("listSteps() takes a text block right after an sh block as the output of its last command", () => {
  assertEquals(listSteps(COPIED), [
    { command: "POD=hello", shown: [] },
    { command: "kubectl get pod \\\n  $POD", shown: ["NAME    AGE", "hello   71s"] },
    { command: "sleep 0", shown: [] },
  ]);
});

Deno.test("listSteps() takes no output after an sh block that is not run", () => {
  assertEquals(listSteps(`<!-- not run: needs a registry -->\n${COPIED}`), [{ command: "sleep 0", shown: [] }]);
});

Deno.test("fillOutput() fills a text block too", () => {
  const transcript = parseTranscript(
    "$ POD=hello\n$ kubectl get pod \\\n>   $POD\nNAME    AGE\nhello   9s\n$ sleep 0\n",
  );
  assertEquals(fillOutput(COPIED, transcript), COPIED.replace("71s", "9s"));
});

Deno.test("listSteps() rejects output before the first command", () => {
  assertThrows(() => listSteps("```console\nNAME: podfit\n```\n"), Error, 'comes before the first "$ "');
});

Deno.test("toScript() prints what parseTranscript() reads", async () => {
  const steps = [{ command: "echo 'it is'", shown: [] }, { command: "echo a \\\n  b", shown: [] }];
  const { stdout } = await new Deno.Command("bash", { args: ["-c", toScript(steps)] }).output();
  assertEquals(parseTranscript(new TextDecoder().decode(stdout)), [
    { command: "echo 'it is'", shown: ["it is"] },
    { command: "echo a \\\n  b", shown: ["a b"] },
  ]);
});

Deno.test("toScript() prints the command of the page and runs what it is changed to", async () => {
  const script = toScript([{ command: "echo page", shown: [] }], (command) => command.replace("page", "test"));
  const { stdout } = await new Deno.Command("bash", { args: ["-c", script] }).output();
  assertEquals(new TextDecoder().decode(stdout), "$ echo page\ntest\n");
});

Deno.test("matchSteps() takes the next run of a command, whatever the order of the page", () => {
  const step = (command: string, ...shown: readonly string[]) => ({ command, shown });
  const transcript = [step("a", "1"), step("b", "2"), step("a", "3")];
  const page = [step("b", "..."), step("a", "..."), step("x"), step("b", "...")];
  assertEquals(matchSteps(page, transcript).map(([, run]) => run.shown), [["2"], ["3"], ["2"]]);
});

Deno.test("listUnprinted() names each line that the command did not print there", () => {
  const run = { command: "x", shown: ["a", "b", "c"] };
  assertEquals(listUnprinted({ command: "x", shown: ["a", "...", "c"] }, run), []);
  assertEquals(listUnprinted({ command: "x", shown: ["b", "a"] }, run), ["a"]);
  assertEquals(listUnprinted({ command: "x", shown: ["..."] }, run), []);
});

Deno.test("fillOutput() copies the lines of the same shape from the transcript, and nothing else", () => {
  const filled = fillOutput(PAGE, parseTranscript(TRANSCRIPT));
  assertEquals(
    filled,
    PAGE.replace("podfit-7fb94f694f-5cjhl   Running   2s", "podfit-cd7b7ccfb-7ccxs   Running   12s"),
  );
});

Deno.test("fillOutput() fails where the output has changed its shape, or a command is missing", () => {
  const other = parseTranscript(TRANSCRIPT.replace("NAME: podfit", "RELEASE: podfit"));
  assertThrows(() => fillOutput(PAGE, other), Error, 'Cannot find a line like "NAME: podfit"');
  const shorter = parseTranscript(TRANSCRIPT.slice(TRANSCRIPT.indexOf("$ true")));
  assertThrows(() => fillOutput(PAGE, shorter), Error, "Cannot find the command in the transcript");
});

Deno.test("toShape() is the same for the same line of two runs, and differs where a word does", () => {
  const same = [
    ["hello   hello   False  True   61s", "hello  hello  True  True  1m2s"],
    ["LAST DEPLOYED: Wed Nov 25 13:33:44 2026", "LAST DEPLOYED: Thu Nov 26 09:01:02 2026"],
    ["cpu.requests 131m -> 264m at 13:34:46Z", "cpu.requests 50m -> 1 at 00:00:00Z"],
    ['{"memory":"512Mi"}', '{"memory":"64Mi"}'],
    [
      "hello-759f4c4cc4-kzv72 has cpu.requests 264m. podfit wants no change yet: no usage yet (Warmup).",
      "hello-6d4cf56db6-2wxvz has cpu.requests 1. podfit wants 300m. Blocked until 11:03:01Z (Cooldown).",
    ],
    [
      "It has this size because podfit changed cpu.requests 131m -> 264m 11s ago (13:34:46Z): cpu.requests at 145 %.",
      "It has this size because podfit changed cpu.requests 50m -> 1, cpu.limits 100m -> 2 1m ago (13:34:46Z): cpu.limits.",
    ],
    [
      "podfit   podfit-cd7b7ccfb-rqk8j_d077cb6b-9bde-4299-aafe-62a92835a436   11s",
      "podfit   podfit-c5fbfd6b9-78jw4_25a634a8-fe51-4934-a19c-ac4dac36f486   5s",
    ],
    [
      "web-dcff7dd7d-7htwz  web     283m     394m   577m  72 %       -  22.7Mi     96Mi  512Mi  24 %       -  Warmup",
      "web-dcff7dd7d-k2zkl  web  1  394m  2  9 %  394m/-  22Mi  96Mi  512Mi  24 %  33Mi/56Mi  MetricsUnavailable",
    ],
    [
      "web-dcff7dd7d-7htwz  web     283m     394m   577m  72 %       -  22.7Mi     96Mi  512Mi  24 %       -  Warmup",
      "web-dcff7dd7d-k2zkl  web  -  394m  2  -  -  -  96Mi  512Mi  -  -  -",
    ],
    [
      "17s ago (16:05:25Z)  cpu.limits 231m -> 577m  because cpu.limits at 100 %; in force after 0.2s",
      "1m ago (16:06:25Z)  cpu.requests 50m -> 129m, cpu.limits 100m -> 231m  because cpu.requests at 184 %; in force after 1s",
    ],
    ["  cpu.requests  264m  91 %  10m..   -", "  cpu.requests  1  9 %  5m..   up 1 of 2"],
    ["hello-759f4c4cc4-kzv72 has", "hello-6d4cf56db6-2wxvz has"],
  ] as const;
  for (const [one, other] of same) assertEquals(toShape(one), toShape(other));
  assertEquals(toShape("pod web is Ready") === toShape("pod web is Pending"), false);
});

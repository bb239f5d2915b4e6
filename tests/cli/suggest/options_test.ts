import { assertEquals, assertRejects } from "#assert";
import { CommanderError } from "commander";
import { createSuggestCommand, type SuggestOptions } from "../../../lib/cli/suggest/options.ts";

async function parse(...args: readonly string[]): Promise<SuggestOptions> {
  let found: SuggestOptions | null = null;
  const command = createSuggestCommand(
    { toComplaint: (text) => text, getEnv: () => undefined },
    (options) => Promise.resolve(void (found = options)),
  );
  const errors: string[] = [];
  command.configureOutput({ writeErr: (text) => void errors.push(text) });
  try {
    await command.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      throw new Error(`${error.exitCode}: ${errors.join("").trim()}`, { cause: error });
    }
    throw error;
  }
  if (found === null) throw new Error("Cannot parse: the command did not run");
  return found;
}

Deno.test("suggest takes a workload to watch, by kubectl's short names too", async () => {
  const options = await parse("deploy/web", "-n", "shop", "--for", "2h");
  assertEquals(options, {
    workload: { kind: "deployment", name: "web" },
    namespace: "shop",
    isEveryNamespace: false,
    selector: null,
    forMs: 7_200_000,
    filenames: [],
    container: null,
    loads: [],
    records: [],
    prometheus: null,
    percentOfCores: 1,
    noise: null,
    budget: null,
    output: null,
    server: {
      kubeconfigPaths: [],
      context: null,
      environment: { kubeconfig: null, home: null, serviceHost: null, servicePort: null },
    },
  });
  assertEquals((await parse("sts/db")).workload, { kind: "statefulset", name: "db" });
  assertEquals((await parse("--all")).workload, null);
  assertEquals((await parse("deploy", "web")).workload, { kind: "deployment", name: "web" });
  const every = await parse("-A", "-l", "team=web");
  assertEquals([every.workload, every.isEveryNamespace, every.selector?.requirements.length], [null, true, 1]);
});

Deno.test("suggest takes days, and Prometheus with a query that has spaces", async () => {
  const args = [
    "--for",
    "7d",
    "--from",
    "prometheus",
    "http://p:9090",
    "sum by (container) (x)",
    "--memory-query",
    "y",
  ];
  const { forMs, prometheus } = await parse("deployment/web", ...args);
  assertEquals(forMs, 7 * 86_400_000);
  assertEquals(prometheus, { url: "http://p:9090", query: "sum by (container) (x)", memoryQuery: "y" });
});

Deno.test("suggest takes files any number of times", async () => {
  const args = [
    "--load",
    "a.csv",
    "--load",
    "app=b.csv",
    "--from-record",
    "c.jsonl",
    "-f",
    "d.yaml",
    "--noise",
    "--seed",
    "x",
  ];
  const { loads, records, filenames, noise } = await parse("deployment/web", ...args);
  assertEquals({ loads, records, filenames, noise }, {
    loads: ["a.csv", "app=b.csv"],
    records: ["c.jsonl"],
    filenames: ["d.yaml"],
    noise: "x",
  });
});

Deno.test("suggest says in one line what is wrong, with exit code 2", async () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [[], "Cannot suggest: name one workload, such as deployment/web, or give --all"],
    [["deployment/web", "--all"], "Cannot suggest: name one workload, such as deployment/web, or give --all"],
    [["--all", "--load", "a.csv"], "Cannot use --all with a history: name the workload that it is of"],
    [["web"], 'Cannot read "web": write deployment/NAME, statefulset/NAME or daemonset/NAME'],
    [
      ["constructor/web"],
      'Cannot read "constructor/web": write deployment/NAME, statefulset/NAME or daemonset/NAME',
    ],
    [
      ["deployment/W"],
      'Cannot read deployment "W": it is not a name of a deployment: lower case letters, digits, "-" and ".", at most 253',
    ],
    [["deployment/web", "--for", "10s"], 'Cannot use --for "10s": a minute is the least that says anything'],
    [
      ["deployment/web", "--from", "influx", "u", "q"],
      'Cannot read --from "influx u q": write --from prometheus URL QUERY, the query quoted',
    ],
    [
      ["deployment/web", "--from", "prometheus", "u"],
      'Cannot read --from "prometheus u": write --from prometheus URL QUERY, the query quoted',
    ],
    [["-A", "-n", "shop"], "Cannot use --all-namespaces with --namespace: one of them is enough"],
    [["deployment/web", "-l", "a=b"], "Cannot use --selector without --all or --all-namespaces"],
    [
      ["deployment/web", "--load", "a.csv", "-c", "My_App"],
      'Cannot read --container "My_App": it is not a name of a container: lower case letters, digits and "-", at most 63',
    ],
    [
      ["deployment/web", "-c", "app"],
      "Cannot use --container without a load: it is the container of a load without a name; leave it out",
    ],
    [["deployment/web", "-o", "yaml"], 'Cannot use --output "yaml": it names a file here'],
    [["deployment/web", "--memory-query", "q"], "Cannot use --memory-query without --from prometheus"],
  ];
  for (const [args, message] of cases) {
    await assertRejects(() => parse(...args), Error, `2: ${message}`);
  }
});

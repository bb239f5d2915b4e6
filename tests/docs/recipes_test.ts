/** Do the policies of the how-to pages keep their promises under a load? They are simulated for two hours. */
import { assert, assertEquals } from "#assert";
import { parseAll, stringify } from "../../lib/runtime/yaml.ts";
import { parseAmount } from "../../lib/units/quantity.ts";
import { listBlocks } from "../../tools/docs/markdown.ts";
import { runPodfit } from "../support/podfit_process.ts";

interface Recipe {
  readonly container: string;
  /** What the pod template has; `null` where the page shows it. */
  readonly resources: Resources | null;
  /** Millicores at rest and when busy, and the memory that is reached. */
  readonly load: { readonly rest: number; readonly busy: number; readonly memory: string };
  /** Which autoscaler of the page; the first one unless given. */
  readonly autoscaler?: string;
}

interface Resources {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

const SMALL = { requests: { cpu: "500m", memory: "512Mi" }, limits: { cpu: "1", memory: "1Gi" } };

const RECIPES: Readonly<Record<string, Recipe>> = {
  "jvm": { container: "app", resources: null, load: { rest: 100, busy: 1500, memory: "850Mi" } },
  "nodejs": { container: "app", resources: null, load: { rest: 40, busy: 900, memory: "400Mi" } },
  "python": { container: "app", resources: null, load: { rest: 60, busy: 1700, memory: "700Mi" } },
  "postgresql": { container: "postgres", resources: SMALL, load: { rest: 100, busy: 900, memory: "700Mi" } },
  "batch-and-queues": { container: "app", resources: SMALL, load: { rest: 10, busy: 800, memory: "600Mi" } },
  "sidecars": {
    container: "istio-proxy",
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "2", memory: "1Gi" } },
    load: { rest: 20, busy: 600, memory: "90Mi" },
    autoscaler: "web-proxy",
  },
};

for (const [page, recipe] of Object.entries(RECIPES)) {
  Deno.test(`the policy of how-to/${page}.md follows a load within its bounds, and nothing is killed`, async () => {
    const { autoscaler, resources } = await readPage(page, recipe);
    const { container } = await simulate(autoscaler, { resources, recipe });
    assertEquals(container.memory.oomKillSeconds, []);
    const sizes = container.resizes.map(({ to }) => to);
    assert(sizes.some(({ cpuRequestMillicores }) => cpuRequestMillicores > recipe.load.rest * 2), "it grows");
    assert((sizes.at(-1)?.cpuRequestMillicores ?? Infinity) < recipe.load.busy, "and shrinks again");
    for (const [field, from, to] of listBounds(autoscaler)) {
      const outside = sizes.map((size) => size[field]).filter((amount) => amount < from || amount > to);
      assertEquals(outside, [], `${field} outside of ${from} to ${to}`);
    }
  });
}

Deno.test("the policy of how-to/postgresql.md leaves memory alone", async () => {
  const recipe = RECIPES["postgresql"];
  assert(recipe !== undefined);
  const { autoscaler, resources } = await readPage("postgresql", recipe);
  const { container } = await simulate(autoscaler, { resources, recipe });
  assertEquals([...new Set(container.resizes.map(({ to }) => to.memoryLimitBytes))], [2 ** 30]);
});

type Field = "cpuRequestMillicores" | "cpuLimitMillicores" | "memoryRequestBytes" | "memoryLimitBytes";

interface Simulated {
  readonly container: string;
  readonly memory: { readonly oomKillSeconds: readonly number[] };
  readonly resizes: readonly { readonly to: Readonly<Record<Field, number>> }[];
}

interface Manifest {
  readonly kind?: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly target: { readonly kind: string; readonly name: string };
    readonly bounds?: Readonly<Record<"cpu" | "memory", Readonly<Record<"requests" | "limits", Bounds>> | undefined>>;
  };
  readonly resources?: Resources;
}

interface Bounds {
  readonly min?: string;
  readonly max?: string;
}

async function readPage(page: string, recipe: Recipe): Promise<{ autoscaler: Manifest; resources: Resources }> {
  const text = await Deno.readTextFile(new URL(`../../docs/how-to/${page}.md`, import.meta.url));
  const objects = listBlocks(text).filter(({ language }) => language === "yaml").flatMap((block) => {
    return parseAll(block.text) as Manifest[];
  });
  const autoscaler = objects.find(({ kind, metadata }) => {
    return kind === "PodResourceAutoscaler" && metadata.name === (recipe.autoscaler ?? metadata.name);
  });
  const resources = recipe.resources ?? objects.find((one) => one.resources !== undefined)?.resources;
  assert(autoscaler !== undefined && resources !== undefined, page);
  return { autoscaler, resources };
}

async function simulate(
  autoscaler: Manifest,
  { resources, recipe: { container, load } }: { readonly resources: Resources; readonly recipe: Recipe },
): Promise<{ readonly container: Simulated }> {
  const { target: { kind, name } } = autoscaler.spec;
  const labels = { app: name };
  const workload = {
    apiVersion: "apps/v1",
    kind,
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: container, image: "app:1", resources }] } },
    },
  };
  const rows = [[0, load.rest], [600, load.rest], [630, load.busy], [2400, load.busy], [2430, load.rest], [
    7200,
    load.rest,
  ]];
  const csv = ["seconds,millicores,memory", ...rows.map(([at, cpu]) => `${at},${cpu},${load.memory}`)].join("\n");
  const folder = await Deno.makeTempDir();
  try {
    const files = { "a.yaml": stringify(workload), "b.yaml": stringify(autoscaler), "load.csv": csv };
    for (const [file, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${file}`, text);
    const args = [
      "simulate",
      "-f",
      `${folder}/a.yaml`,
      "-f",
      `${folder}/b.yaml`,
      "--load",
      `${folder}/load.csv`,
      "-o",
      "json",
    ];
    const { code, stdout, complaints } = await runPodfit({ args, permissions: "lint" });
    assertEquals(code, 0, complaints.join("\n"));
    const [run] = (JSON.parse(stdout) as { runs: { policy: string | null; containers: Simulated[] }[] }).runs;
    const [found] = run?.containers ?? [];
    assert(found !== undefined);
    return { container: found };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function listBounds({ spec: { bounds } }: Manifest): readonly (readonly [Field, from: number, to: number])[] {
  const fields: readonly (readonly [Field, "cpu" | "memory", "requests" | "limits"])[] = [
    ["cpuRequestMillicores", "cpu", "requests"],
    ["cpuLimitMillicores", "cpu", "limits"],
    ["memoryRequestBytes", "memory", "requests"],
    ["memoryLimitBytes", "memory", "limits"],
  ];
  return fields.flatMap(([field, resource, side]) => {
    const { min, max } = bounds?.[resource]?.[side] ?? {};
    return min === undefined && max === undefined
      ? []
      : [[field, amount(min, resource, 0), amount(max, resource, Infinity)] as const];
  });
}

function amount(text: string | undefined, resource: "cpu" | "memory", fallback: number): number {
  const parsed = text === undefined ? null : parseAmount(text, resource);
  return parsed?.ok === true ? parsed.amount : fallback;
}

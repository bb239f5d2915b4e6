/**
 * podfit runs on versions of Kubernetes that are older than the OpenAPI document from which lib/api is made. Is there a
 * field or a query parameter that podfit needs, and that the oldest tested version lacks?
 */
import { assert, assertEquals } from "#assert";
import { type ApiFields, findMissing, listFields, OLDEST } from "../../tools/api_fields.ts";
import { generateTypesWithout, readDocument } from "../../tools/generate.ts";

const ROOT = new URL("../../", import.meta.url);

/** Fields that 1.34 lacks and podfit reads nevertheless: what it does without them. */
const READ_WHERE_PRESENT: Readonly<Record<string, string>> = {
  "PodStatus.resources":
    "the limit of the pod's own cgroup is not known, so a pod cgroup that is too small is not found",
};

async function readOldest(): Promise<ApiFields> {
  const { schemas, parameters } = JSON.parse(await Deno.readTextFile(OLDEST));
  const split = (names: Record<string, string>) =>
    Object.fromEntries(Object.entries(names).map(([name, fields]) => [name, fields.split(" ").filter(Boolean)]));
  return { schemas: split(schemas), parameters: split(parameters) };
}

Deno.test("Kubernetes 1.34 has every operation that podfit sends", async () => {
  const [ours, oldest] = [listFields(await readDocument()), await readOldest()];
  assert(Object.keys(ours.parameters).length > 30);
  assertEquals(Object.keys(ours.parameters).filter((operation) => !(operation in oldest.parameters)), []);
});

Deno.test("podfit compiles with the fields of Kubernetes 1.34, but for those that it reads where they are present", async () => {
  const [ours, oldest] = [listFields(await readDocument()), await readOldest()];
  const missing = findMissing(ours.schemas, oldest.schemas);
  assertEquals(missing["PodStatus"], ["allocatedResources", "nodeAllocatableResourceClaimStatuses", "resources"]);
  const found = await findUses(missing);
  const listed = Object.keys(READ_WHERE_PRESENT);
  assertEquals([...new Set(found)].sort(), listed.map((one) => one.slice(one.indexOf(".") + 1)).sort());
  assertEquals(
    listed.filter((one) => {
      const [schema = "", field = ""] = one.split(".");
      return missing[schema]?.includes(field) !== true;
    }),
    [],
  );
});

Deno.test("no query parameter that Kubernetes 1.34 lacks is sent", async () => {
  const [ours, oldest] = [listFields(await readDocument()), await readOldest()];
  const names = new Set(Object.values(findMissing(ours.parameters, oldest.parameters)).flat());
  assertEquals([...names], ["shardSelector"]);
  for (const file of await listUsers()) assert(!(await Deno.readTextFile(file)).includes("shardSelector"), file);
});

/** The files of the program that use the types of lib/api/kubernetes.ts. The embedded cluster is a server of 1.36. */
async function listUsers(): Promise<readonly string[]> {
  const users: string[] = [];
  const visit = async (folder: string) => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = `${folder}/${name}`;
      if (isDirectory && name !== "embedded" && name !== "api") await visit(path);
      else if (name.endsWith(".ts") && (await Deno.readTextFile(path)).includes("api/kubernetes.ts")) users.push(path);
    }
  };
  await visit(new URL("lib", ROOT).pathname);
  return users;
}

/** The fields without which the program does not compile, of these, by name. */
async function findUses(fields: Readonly<Record<string, readonly string[]>>): Promise<readonly string[]> {
  const users = await listUsers();
  assert(users.length > 5);
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/kubernetes.ts`, await generateTypesWithout(fields));
    const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
    const relative = Object.entries<string>(imports).map((
      [name, target],
    ) => [name, target.startsWith("./") ? new URL(target, ROOT).href : target]);
    const map = {
      ...Object.fromEntries(relative),
      [new URL("lib/api/kubernetes.ts", ROOT).href]: new URL(`file://${folder}/kubernetes.ts`).href,
    };
    await Deno.writeTextFile(`${folder}/map.json`, JSON.stringify({ imports: map }));
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--cached-only", `--import-map=${folder}/map.json`, ...users],
      cwd: ROOT,
      stdin: "null",
      env: { NO_COLOR: "1" },
    }).output();
    const said = new TextDecoder().decode(stderr);
    const names = [...said.matchAll(/Property '(\w+)' does not exist on type/g)].map(([, name = ""]) => name);
    // A check that failed for another reason would find nothing, which is what the tests hope for.
    assert(success || names.length > 0, said);
    return [...new Set(names)].sort();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

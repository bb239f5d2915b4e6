import { assertEquals } from "#assert";
import { admit, type Claim, openClaimDesk } from "../../tools/claims.ts";

const CAPACITY = { scenarios: 3, millicores: 1000 };

const CASES: Readonly<
  Record<string, { running?: readonly string[]; waiting: readonly string[]; begins: readonly string[] }>
> = {
  "the largest first, and whatever fits beside it": { waiting: ["100", "300", "800"], begins: ["800", "100"] },
  "no more at a time than allowed": { waiting: ["0", "0", "0", "0"], begins: ["0", "0", "0"] },
  "nothing beyond what the running ones leave": { running: ["700"], waiting: ["400", "300"], begins: ["300"] },
  "one that is larger than everything, when it is the only one": { waiting: ["2000"], begins: ["2000"] },
  "nothing beside one that has to be alone": { running: ["alone"], waiting: ["0"], begins: [] },
  "those for the spare node first, which take nothing of the others": {
    waiting: ["800", "spare", "200"],
    begins: ["spare", "800", "200"],
  },
  "those for the node with cgroup v2 first, too": {
    waiting: ["800", "cgroup2", "spare"],
    begins: ["cgroup2", "spare", "800"],
  },
  "those for the node with cgroup v2 one at a time, whoever has the spare one": {
    running: ["cgroup2"],
    waiting: ["cgroup2", "spare"],
    begins: ["spare"],
  },
  "those for the spare node one at a time": { running: ["spare"], waiting: ["spare", "900"], begins: ["900"] },
  "those that need a calm machine after the shared ones": { waiting: ["calm", "0"], begins: ["0"] },
  "those that need a calm machine beside those with a node for themselves": {
    running: ["spare"],
    waiting: ["calm", "calm", "cgroup2"],
    begins: ["cgroup2", "calm"],
  },
  "nothing shared beside one that needs a calm machine": {
    running: ["calm"],
    waiting: ["0", "calm", "spare"],
    begins: ["spare"],
  },
  "those that need a calm machine before those that have to be alone": { waiting: ["alone", "calm"], begins: ["calm"] },
  "those that have to be alone after all others": { waiting: ["alone", "100"], begins: ["100"] },
  "those that have to be alone not beside others": { running: ["0"], waiting: ["alone"], begins: [] },
  "those that have to be alone one at a time": { waiting: ["alone", "alone"], begins: ["alone"] },
};

for (const [name, { running = [], waiting, begins }] of Object.entries(CASES)) {
  Deno.test(`admit() lets begin ${name}`, () => {
    const admitted = admit(waiting.map(toClaim), { running: running.map(toClaim), capacity: CAPACITY });
    assertEquals(admitted.map(({ name }) => name), begins);
  });
}

Deno.test("openClaimDesk() answers a claim once it may begin, and says for which claim time was spent", async () => {
  const released: string[] = [];
  await using desk = openClaimDesk({ capacity: CAPACITY, onRelease: ({ name }) => released.push(name) });
  const claim = async (name: string) => {
    return await (await fetch(desk.url, { method: "POST", body: JSON.stringify(toClaim(name)) })).text();
  };
  const release = async (path: string) => {
    const response = await fetch(desk.url + path, { method: "DELETE" });
    await response.body?.cancel();
    return response.status;
  };
  const first = await claim("600");
  let hasBegun = false;
  const second = claim("500").then((path) => {
    hasBegun = true;
    return path;
  });
  const beside = await claim("400");
  assertEquals([hasBegun, await release(beside), hasBegun], [false, 204, false]);
  assertEquals(await release(first), 204);
  assertEquals(await release(await second), 204);
  assertEquals(await release(first), 404);
  assertEquals(released, ["400", "600", "500"]);
});

function toClaim(name: string): Claim {
  return name === "alone" || name === "calm" || name === "spare" || name === "cgroup2"
    ? { name, place: name, millicores: 700 }
    : { name, place: "shared", millicores: Number(name) };
}

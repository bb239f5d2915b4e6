/** Does `podfit sample` use what it is set to, refuse what is above its bounds, and end when it is asked to? */
import { assert, assertEquals, assertMatch, assertThrows } from "#assert";
import { StartError } from "../../../lib/cli/command/process.ts";
import { parseLoad } from "../../../lib/cli/sample/options.ts";
import { burn, createSampleHandler, Load } from "../../../lib/cli/sample/sample.ts";
import { readDenoDir, runPodfit } from "../../support/podfit_process.ts";

const MI = 2 ** 20;
const MAX = { cpuMillicores: 500, memoryBytes: 64 * MI };

async function ask(load: Load, path: string): Promise<readonly [number, string]> {
  const response = await createSampleHandler(load, MAX)(new Request(`http://sample${path}`));
  return [response.status, await response.text()];
}

Deno.test("a request sets CPU or memory and leaves the other as it is", async () => {
  const load = new Load({ cpuMillicores: 40, memoryBytes: 0 });
  assertEquals(await ask(load, "/set"), [200, "cpu=40m memory=0\n"]);
  assertEquals(await ask(load, "/set?memory=32Mi"), [200, "cpu=40m memory=32Mi\n"]);
  assertEquals(load.heldBytes, 32 * MI);
  assertEquals(await ask(load, "/set?cpu=300m"), [200, "cpu=300m memory=32Mi\n"]);
  assertEquals(load.heldBytes, 32 * MI);
  assertEquals(await ask(load, "/set?cpu=0&memory=0"), [200, "cpu=0 memory=0\n"]);
  assertEquals(load.heldBytes, 0);
});

Deno.test("a request above the bounds, or one that is no quantity, is refused and changes nothing", async () => {
  const load = new Load({ cpuMillicores: 40, memoryBytes: MI });
  const refusals = {
    "cpu=501m": 'Cannot use cpu "501m": at most 500m\n',
    // A number without a unit is whole cores.
    "cpu=300": 'Cannot use cpu "300": at most 500m\n',
    "memory=65Mi": 'Cannot use memory "65Mi": at most 64Mi\n',
    "cpu=-1": 'Cannot read cpu "-1": write a quantity such as 8 or 500m\n',
    "cpu=": 'Cannot read cpu "": write a quantity such as 8 or 500m\n',
    "memory=lots": 'Cannot read memory "lots": write a quantity such as 64Gi\n',
    "mem=1Mi": 'Cannot set the load: write "cpu" and "memory" only\n',
    "cpu=100m&memory=65Mi": 'Cannot use memory "65Mi": at most 64Mi\n',
  };
  for (const [query, message] of Object.entries(refusals)) {
    assertEquals(await ask(load, `/set?${query}`), [400, message]);
    assertEquals([load.setting, load.heldBytes], [{ cpuMillicores: 40, memoryBytes: MI }, MI], query);
  }
});

Deno.test("memory that is given back is freed without waiting for the garbage collector", () => {
  const bytes = 256 * MI;
  const freeSome = () => {
    const load = new Load({ cpuMillicores: 0, memoryBytes: bytes });
    const heldBytes = Deno.memoryUsage().rss;
    load.set({ cpuMillicores: 0, memoryBytes: 0 });
    return heldBytes - Deno.memoryUsage().rss;
  };
  // Tests of other files share the process, and what they take in the meantime hides what was freed.
  let mostFreed = 0;
  for (let trial = 0; trial < 5 && mostFreed <= 0.9 * bytes; trial++) mostFreed = Math.max(mostFreed, freeSome());
  assert(mostFreed > 0.9 * bytes, `${mostFreed} of ${bytes} bytes freed`);
});

Deno.test("in each period it is busy for its share, sleeps for the rest, and sees a new load at once", async () => {
  const stop = new AbortController();
  const load = new Load({ cpuMillicores: 300, memoryBytes: 0 });
  const sleeps: number[] = [];
  let nowMs = 0;
  let busyMs = 0;
  const clock = {
    monotonic: () => {
      busyMs++;
      return nowMs++;
    },
    sleep: (ms: number) => {
      sleeps.push(ms);
      if (sleeps.length === 1) load.set({ cpuMillicores: 0, memoryBytes: 0 });
      if (sleeps.length === 2) stop.abort(new DOMException("ended", "AbortError"));
      return Promise.resolve();
    },
  };
  await burn(load, { clock, signal: stop.signal });
  assertEquals(sleeps, [35, 50]);
  assert(busyMs >= 15, "it was busy for 15 ms of the first period");
});

Deno.test("the flags have bounds, and the load of the start is within them", async () => {
  const refused = {
    "--cpu=1": 'podfit: Cannot use --cpu "1": at most 900m; see podfit sample --help',
    "--max-cpu=2": 'podfit: Cannot use --max-cpu "2": at most 900m; see podfit sample --help',
    "--memory=1Gi": 'podfit: Cannot use --memory "1Gi": at most 512Mi; see podfit sample --help',
    "--max-memory=9Gi": 'podfit: Cannot use --max-memory "9Gi": at most 8Gi; see podfit sample --help',
  };
  for (const [flag, complaint] of Object.entries(refused)) {
    const { code, complaints } = await runPodfit({ args: ["sample", flag], permissions: "daemon" });
    assertEquals([code, complaints], [2, [complaint]]);
  }
  assertThrows(() => parseLoad({ cpu: "1" }, { max: MAX }), StartError, "at most 500m");
  assertEquals(parseLoad({ cpu: "0m", memory: "0Mi" }, { max: MAX }), { cpuMillicores: 0, memoryBytes: 0 });
});

Deno.test("it runs with the permissions of the image, answers under load, and ends with 0 at a SIGTERM", async () => {
  const { permissions } = JSON.parse(await Deno.readTextFile(new URL("../../../deno.json", import.meta.url)));
  assert(!("write" in permissions.daemon || "run" in permissions.daemon));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--frozen", "--cached-only", "-P=daemon", "main.ts", ...ARGS],
    cwd: new URL("../../../", import.meta.url),
    clearEnv: true,
    env: { DENO_DIR: await readDenoDir(), DENO_NO_UPDATE_CHECK: "1" },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const [out, err] = [child.stdout.getReader(), new Response(child.stderr).text()];
  let isEnded = false;
  try {
    const first = new TextDecoder().decode((await out.read()).value);
    const [, port] = /^Listening on 127\.0\.0\.1:(\d+), cpu=900m memory=8Mi\n$/.exec(first) ?? [];
    assert(port !== undefined, first);
    const answer = await fetch(`http://127.0.0.1:${port}/set?cpu=100m`, { signal: AbortSignal.timeout(20_000) });
    assertEquals([answer.status, await answer.text()], [200, "cpu=100m memory=8Mi\n"]);
    const index = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(20_000) });
    assertMatch(await index.text(), /^\/set +what it uses/m);
    child.kill("SIGTERM");
    const { code } = await child.status;
    isEnded = true;
    assertEquals([code, await err], [0, ""]);
  } finally {
    await out.cancel();
    if (!isEnded) child.kill("SIGKILL");
  }
});

const ARGS = ["sample", "--cpu=900m", "--memory=8Mi", "--listen=127.0.0.1:0"];

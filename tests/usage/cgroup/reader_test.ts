/** What is read of a container's cgroups, wherever a node keeps them (L61)? */
import { assert, assertEquals, assertMatch } from "#assert";
import type { Point } from "../../../lib/api/usage.ts";
import { CgroupReader, type CgroupReading } from "../../../lib/usage/cgroup/watch.ts";
import type { UsagePod } from "../../../lib/usage/source.ts";
import {
  ID,
  movedV1,
  POD,
  RECORDED,
  RECORDED_V2,
  toFiles,
  type Tree,
  treeV2,
  UID,
} from "../../support/cgroup_trees.ts";

const NOW = 1_790_000_000_123;
const UNDERSCORED = UID.replaceAll("-", "_");
const SLICES = "kubepods.slice/kubepods-burstable.slice";

const POINT_V1: Point = {
  container: "hello",
  instance: `containerd://${ID}`,
  at: NOW,
  resolutionMs: 1,
  cpu: { kind: "counter", counterNs: 391429195 + 385503468 },
  workingSetBytes: 1757184 - 86016,
  usageBytes: 1757184,
  pressure: { fullNs: null, throttledNs: 297552125, largestCpuNs: 391429195 },
  oomKills: 0,
};

const POINT_V2: Point = {
  ...POINT_V1,
  cpu: { kind: "counter", counterNs: 776932000 },
  pressure: { fullNs: 298765000, throttledNs: 297552000, largestCpuNs: null },
  oomKills: 2,
  memoryStallPercent: 27.15,
};

/** Other pods with the same container, whose cgroups lie elsewhere. */
const guaranteed: UsagePod = { ...POD, qosClass: "Guaranteed" };
const bestEffort: UsagePod = { ...POD, qosClass: "BestEffort" };
function of(runtime: string): UsagePod {
  return { ...POD, containers: [{ ...POD.containers[0], instance: `${runtime}://${ID}` }] };
}

const LAYOUTS: Readonly<Record<string, { readonly tree: Tree; readonly pod?: UsagePod; readonly version: 1 | 2 }>> = {
  "version 1, cgroupfs, as recorded, below a cgroupRoot": { tree: RECORDED, version: 1 },
  "version 1, cgroupfs": { tree: movedV1(`kubepods/burstable/pod${UID}`, ID), version: 1 },
  "version 1, systemd": {
    tree: movedV1(`${SLICES}/kubepods-burstable-pod${UNDERSCORED}.slice`, `cri-containerd-${ID}.scope`),
    version: 1,
  },
  "version 1, cpu and cpuacct mounted as one": {
    tree: Object.fromEntries(
      Object.entries(movedV1(`kubepods/burstable/pod${UID}`, ID))
        .map(([path, text]) => [path.replace(/^(cpu|cpuacct)\//, "cpu,cpuacct/"), text]),
    ),
    version: 1,
  },
  "version 2, cgroupfs": { tree: treeV2(`kubepods/burstable/pod${UID}`, ID), version: 2 },
  "version 2, cgroupfs, a Guaranteed pod": { tree: treeV2(`kubepods/pod${UID}`, ID), pod: guaranteed, version: 2 },
  "version 2, cgroupfs, CRI-O": {
    tree: treeV2(`kubepods/burstable/pod${UID}`, `crio-${ID}`),
    pod: of("cri-o"),
    version: 2,
  },
  "version 2, systemd": {
    tree: treeV2(`${SLICES}/kubepods-burstable-pod${UNDERSCORED}.slice`, `cri-containerd-${ID}.scope`),
    version: 2,
  },
  "version 2, systemd, a Guaranteed pod": {
    tree: treeV2(`kubepods.slice/kubepods-pod${UNDERSCORED}.slice`, `cri-containerd-${ID}.scope`),
    pod: guaranteed,
    version: 2,
  },
  "version 2, systemd, a BestEffort pod, CRI-O": {
    tree: treeV2(
      `kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${UNDERSCORED}.slice`,
      `crio-${ID}.scope`,
    ),
    pod: { ...bestEffort, containers: of("cri-o").containers },
    version: 2,
  },
  "version 2, systemd, Docker": {
    tree: treeV2(`${SLICES}/kubepods-burstable-pod${UNDERSCORED}.slice`, `docker-${ID}.scope`),
    pod: of("docker"),
    version: 2,
  },
  "version 2, systemd, a node in a container (kind)": {
    tree: treeV2(
      "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/" +
        `kubelet-kubepods-burstable-pod${UNDERSCORED}.slice`,
      `cri-containerd-${ID}.scope`,
    ),
    version: 2,
  },
};

for (const [name, { tree, pod = POD, version }] of Object.entries(LAYOUTS)) {
  Deno.test(`a container's usage is read with ${name} (L61)`, () => {
    const reading = read(tree, [pod]);
    const point = version === 1 ? POINT_V1 : POINT_V2;
    const instance = pod.containers[0]?.instance ?? "";
    assert(reading.kind === "usage");
    assertEquals({ ...reading, pods: new Map(reading.pods) }, {
      kind: "usage",
      pods: new Map([[UID, { usageBytes: 2744320, points: [{ ...point, instance }] }]]),
      skipped: 0,
    });
  });
}

/** By cgroup driver. */
const READ_V2 = {
  cgroupfs: {
    podBytes: 1982464,
    counterNs: 2_038_103_000,
    bytes: 1118208,
    pressure: { fullNs: 28_472_763_000, throttledNs: 808_854_000, largestCpuNs: null },
  },
  systemd: {
    podBytes: 2490368,
    counterNs: 1_154_990_000,
    bytes: 1286144,
    pressure: { fullNs: 2_036_603_000, throttledNs: 458_559_000, largestCpuNs: null },
  },
};

for (const driver of ["cgroupfs", "systemd"] as const) {
  Deno.test(`a container's usage is read with version 2, ${driver}, as recorded (L20, L61)`, () => {
    const { tree, pod } = RECORDED_V2[driver];
    const { podBytes, counterNs, bytes, pressure } = READ_V2[driver];
    const reading = read(tree, [pod]);
    assert(reading.kind === "usage");
    assertEquals(new Map(reading.pods).get(pod.uid), {
      usageBytes: podBytes,
      points: [{
        container: "hello",
        instance: pod.containers[0]?.instance ?? "",
        at: NOW,
        resolutionMs: 1,
        cpu: { kind: "counter", counterNs },
        workingSetBytes: bytes,
        usageBytes: bytes,
        pressure,
        oomKills: 0,
      }],
    });
  });
}

Deno.test("only files of tracked pods' containers are read, each once (L61)", () => {
  const other = "11111111-7e5f-450e-83e5-12af0bd83fc0";
  const tree = { ...treeV2(`kubepods/burstable/pod${UID}`, ID), ...treeV2(`kubepods/burstable/pod${other}`, ID) };
  const asked: string[] = [];
  const reader = new CgroupReader(toFiles(tree, (path) => asked.push(path)), () => NOW);
  reader.read([POD]);
  asked.length = 0;
  reader.read([POD]);
  const pod = `kubepods/burstable/pod${UID}`;
  const own = ["cpu.stat", "cpu.pressure", "memory.pressure", "memory.current", "memory.stat", "memory.events"];
  assertEquals(asked.sort(), [`${pod}/memory.current`, ...own.map((file) => `${pod}/${ID}/${file}`)].sort());
});

Deno.test("a cgroup that has gone is the container's end: no point, and nothing is skipped (L61)", () => {
  const tree: Record<string, string> = { ...treeV2(`kubepods/burstable/pod${UID}`, ID) };
  const reader = new CgroupReader(toFiles(tree), () => NOW);
  assertEquals(points(reader.read([POD])).length, 1);
  for (const path of Object.keys(tree)) if (path.includes(ID)) delete tree[path];
  const after = reader.read([POD]);
  assertEquals(after.kind === "usage" && [after.pods.size, after.skipped], [0, 0]);
});

Deno.test("the files of a container that ended, or is no longer tracked, are released, and all in the end (L61)", () => {
  const pod = `kubepods/burstable/pod${UID}`;
  const own = [
    "cpu.stat",
    "cpu.stat",
    "cpu.pressure",
    "memory.pressure",
    "memory.current",
    "memory.stat",
    "memory.events",
  ];
  const all = [`${pod}/memory.current`, ...own.map((file) => `${pod}/${ID}/${file}`)].sort();
  const released: string[] = [];
  const tree: Record<string, string> = { ...treeV2(pod, ID) };
  const reader = new CgroupReader(toFiles(tree, () => {}, (path) => released.push(path)), () => NOW);
  const take = () => [...new Set(released.splice(0))].sort();
  reader.read([POD]);
  reader.read([POD]);
  assertEquals(take(), []);
  reader.read([]);
  assertEquals(take(), [...new Set(all)]);
  reader.read([POD]);
  delete tree[`${pod}/${ID}/memory.stat`];
  reader.read([POD]);
  assertEquals(take(), [...new Set(all)]);
  tree[`${pod}/${ID}/memory.stat`] = "inactive_file 0\n";
  reader.read([POD]);
  reader[Symbol.dispose]();
  assertEquals(take(), [...new Set(all)]);
});

Deno.test("the next instance of a container is found in its own cgroup, and the one before is forgotten (L61)", () => {
  const next = ID.replace("dde0", "0000");
  const tree: Record<string, string> = { ...treeV2(`kubepods/burstable/pod${UID}`, ID) };
  const reader = new CgroupReader(toFiles(tree), () => NOW);
  reader.read([POD]);
  Object.assign(tree, treeV2(`kubepods/burstable/pod${UID}`, next));
  const restarted = { ...POD, containers: [{ ...POD.containers[0], instance: `containerd://${next}` }] };
  assertEquals(points(reader.read([restarted])).map(({ instance }) => instance), [`containerd://${next}`]);
});

Deno.test("a container that never waited for memory, or of a kernel that does not say, has no share of it (L15, L61)", () => {
  const [pod, path] = [`kubepods/burstable/pod${UID}`, `kubepods/burstable/pod${UID}/${ID}/memory.pressure`];
  const stallOf = (text: string | null) => {
    const { [path]: _, ...rest } = treeV2(pod, ID);
    return points(read(text === null ? rest : { ...rest, [path]: text }, [POD]))[0]?.memoryStallPercent;
  };
  assertEquals(stallOf("some avg10=5.00 avg60=0.00\nfull avg10=4.10 avg60=0.00 avg300=0.00 total=9\n"), 4.1);
  const others = [
    null,
    "",
    "full avg10=0.00 avg60=0.00\n",
    "some avg10=5.00 avg60=0.00\n",
    "full avg10=900.00 avg60=1\n",
  ];
  for (const text of others) assertEquals(stallOf(text), undefined, `${text}`);
});

Deno.test("a kernel that measures neither pressure nor throttling leaves them out (L61)", () => {
  const tree = Object.fromEntries(
    Object.entries(treeV2(`kubepods/burstable/pod${UID}`, ID)).filter(([path]) => !path.endsWith("cpu.pressure"))
      .map(([path, text]) => [path, path.endsWith("cpu.stat") ? text.replace(/throttled_usec \d+\n/, "") : text]),
  );
  assertEquals(points(read(tree, [POD]))[0]?.pressure, null);
});

const NO_USAGE: Readonly<Record<string, Tree>> = {
  "usage that is no number": { "cpu.stat": "usage_usec soon\n" },
  "usage below zero": { "cpu.stat": "usage_usec -5\n" },
  "usage without its name": { "cpu.stat": "nr_periods 5\nxusage_usec 5\n" },
  "usage of 600 core-years": { "cpu.stat": "usage_usec 20000000000000000\n" },
  "memory in words": { "memory.current": "max\n" },
  "memory of a pebibyte and more": { "memory.current": "1125899906842625\n" },
  "an empty file": { "memory.current": "" },
  "statistics without what is inactive": { "memory.stat": "anon 5\n" },
};

for (const [name, files] of Object.entries(NO_USAGE)) {
  Deno.test(`a container with ${name} is skipped and counted, and the one beside it is read (L61)`, () => {
    const beside = ID.replace("dde0", "0000");
    const pod = `kubepods/burstable/pod${UID}`;
    const spoiled = Object.entries(files).map(([file, text]) => [`${pod}/${ID}/${file}`, text]);
    const tree = { ...treeV2(pod, ID), ...treeV2(pod, beside), ...Object.fromEntries(spoiled) };
    const two = {
      ...POD,
      containers: [...POD.containers, { name: "side", instance: `containerd://${beside}`, runningAt: 1 }],
    };
    const reading = read(tree, [two]);
    assertEquals(points(reading).map(({ container }) => container), ["side"]);
    assertEquals(reading.kind === "usage" && reading.skipped, 1);
  });
}

Deno.test("names from the API server that are no names lead nowhere (L61)", () => {
  const ids = [
    "",
    "containerd://",
    `containerd://../${ID}`,
    `containerd://${ID}/..`,
    ID,
    `a/b://${ID}`,
    "containerd://x",
  ];
  const uids = ["..", "../..", "a/b", "", ".", "x".repeat(65), `${UID}\n`, "_"];
  const pods: UsagePod[] = [
    ...ids.map((instance) => ({ ...POD, containers: [{ ...POD.containers[0], instance }] })),
    ...uids.map((uid) => ({ ...POD, uid })),
    { ...POD, qosClass: null },
    { ...POD, containers: [{ ...POD.containers[0], instance: null }] },
  ];
  const pod = `kubepods/burstable/pod${UID}`;
  // As if such paths were there.
  const tree = Object.assign(
    {},
    ...uids.map((uid) => treeV2(`kubepods/burstable/pod${uid}`, ID)),
    ...ids.map((id) => treeV2(pod, id.slice(id.indexOf("://") + (id.includes("://") ? 3 : 1)))),
  );
  const asked: string[] = [];
  const files = toFiles(tree, (path) => asked.push(path));
  for (const pod of pods) new CgroupReader(files, () => NOW).read([pod]);
  assertEquals(asked, []);
});

Deno.test("a mount without cgroups, without pods, or of another node says what to do (L61)", () => {
  const cases: readonly (readonly [Tree, RegExp])[] = [
    [{ "some.file": "" }, /^it holds no cgroups; mount \/sys\/fs\/cgroup of the node there$/],
    [{ "cgroup.controllers": "cpu\n", "system.slice/cpu.stat": "" }, /^no pods' cgroups .*; mount the whole/],
    [{ ...treeV2("kubepods/podother", ID) }, /^no running container's cgroup is in it; is it the node of --node/],
  ];
  for (const [tree, why] of cases) {
    const reading = read(tree, [POD]);
    assert(reading.kind === "failed");
    assertMatch(reading.why, why);
  }
  const waiting = { ...POD, containers: [{ ...POD.containers[0], runningAt: null }] };
  assertEquals(read(treeV2("kubepods/podother", ID), [waiting]).kind, "usage");
});

Deno.test("a mount that fills later is found then (L61)", () => {
  const tree: Record<string, string> = { "cgroup.controllers": "cpu\n" };
  const reader = new CgroupReader(toFiles(tree), () => NOW);
  assertEquals(reader.read([POD]).kind, "failed");
  Object.assign(tree, treeV2(`kubepods/burstable/pod${UID}`, ID));
  assertEquals(points(reader.read([POD])).length, 1);
});

function read(tree: Tree, pods: readonly UsagePod[]): CgroupReading {
  return new CgroupReader(toFiles(tree), () => NOW).read(pods);
}

function points(reading: CgroupReading): readonly Point[] {
  return reading.kind === "failed" ? [] : [...reading.pods.values()].flatMap((usage) => usage.points);
}

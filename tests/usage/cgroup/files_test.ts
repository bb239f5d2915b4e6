/** Is a mount read within bounds, and nothing beside it (L61)? */
import { assertEquals, assertStringIncludes, assertThrows } from "#assert";
import { MAX_FILE_BYTES, MAX_NAMES, openCgroupFiles } from "../../../lib/usage/cgroup/files.ts";
import { CgroupReader } from "../../../lib/usage/cgroup/watch.ts";
import { ID, plant, POD, RECORDED, treeV2, UID } from "../../support/cgroup_trees.ts";

const POD_PATH = `kubepods/burstable/pod${UID}`;

Deno.test("openCgroupFiles() reads what is in a mount (L61)", async () => {
  await using place = await makePlace();
  await plant(place.path, { "a/b/file": "text\n", "a/c/file": "", "top": "1\n" });
  using files = openCgroupFiles(place.path);
  assertEquals([files.readText("a/b/file"), files.readText("a/c/file"), files.readText("a/d")], ["text\n", "", null]);
  assertEquals([files.findKind("a"), files.findKind("top"), files.findKind("b")], ["directory", "file", null]);
  assertEquals([files.listDirectories(""), files.listDirectories("a"), files.listDirectories("x")], [
    ["a"],
    ["b", "c"],
    [],
  ]);
});

Deno.test("a file is read anew each time, open or released, and one that is gone is none (L61)", async () => {
  await using place = await makePlace();
  await plant(place.path, { "counter": "10\n", "words": "one\ntwo" });
  using files = openCgroupFiles(place.path);
  const texts = [files.readText("counter")];
  await Deno.writeTextFile(`${place.path}/counter`, "9\n");
  texts.push(files.readText("counter"));
  files.release("counter");
  await Deno.writeTextFile(`${place.path}/counter`, "1000\n");
  texts.push(files.readText("counter"));
  assertEquals(texts, ["10\n", "9\n", "1000\n"]);
  assertEquals([files.readText("words"), files.readText("words")], ["one\ntwo", "one\ntwo"]);
  files.release("counter");
  await Deno.remove(`${place.path}/counter`);
  assertEquals(files.readText("counter"), null);
});

Deno.test("a recorded tree is read from a mount as from memory (L61)", async () => {
  await using place = await makePlace();
  await plant(place.path, RECORDED);
  using files = openCgroupFiles(place.path);
  const reading = new CgroupReader(files, () => 5).read([POD]);
  assertEquals(reading.kind === "usage" && reading.pods.get(UID)?.points[0]?.workingSetBytes, 1757184 - 86016);
});

Deno.test("a file longer than any cgroup's is as good as empty, and the buffer is no file's (L61)", async () => {
  await using place = await makePlace();
  await plant(place.path, {
    "huge": "1".repeat(MAX_FILE_BYTES),
    "huger": "1".repeat(MAX_FILE_BYTES + 1),
    "fits": "1".repeat(MAX_FILE_BYTES - 1),
    "short": "2",
  });
  using files = openCgroupFiles(place.path);
  assertEquals(["huge", "huger"].map(files.readText), ["", ""]);
  assertEquals(files.readText("fits")?.length, MAX_FILE_BYTES - 1);
  assertEquals(files.readText("short"), "2");
});

Deno.test("no more names are listed than a cgroup has (L61)", async () => {
  await using place = await makePlace();
  for (let index = 0; index < MAX_NAMES + 5; index++) await Deno.mkdir(`${place.path}/${index}`);
  using files = openCgroupFiles(place.path);
  assertEquals(files.listDirectories("").length, MAX_NAMES);
});

Deno.test("a link leads nowhere: neither a file, nor a container's cgroup, nor a pod's (L61)", async () => {
  await using place = await makePlace();
  await using outside = await makePlace();
  const tree = treeV2(POD_PATH, ID);
  await plant(outside.path, tree);
  const linked: readonly string[] = [`${POD_PATH}/${ID}/memory.current`, `${POD_PATH}/${ID}`, POD_PATH, "kubepods"];
  for (const path of linked) {
    await using mount = await makePlace();
    await plant(mount.path, tree);
    await Deno.remove(`${mount.path}/${path}`, { recursive: true });
    await Deno.symlink(`${outside.path}/${path}`, `${mount.path}/${path}`);
    using files = openCgroupFiles(mount.path);
    const reading = new CgroupReader(files, () => 5).read([POD]);
    assertEquals(reading.kind === "usage" ? reading.pods.size : 0, 0, path);
  }
  await Deno.symlink(outside.path, `${place.path}/link`);
  using files = openCgroupFiles(`${place.path}/link`);
  assertEquals(files.findKind(POD_PATH), "directory", "the root itself may be a link");
});

Deno.test("what is neither a file nor a directory is nothing: it could be waited for (L61)", async () => {
  await using place = await makePlace();
  const { success } = await new Deno.Command("mkfifo", { args: [`${place.path}/pipe`] }).output();
  using files = openCgroupFiles(place.path);
  assertEquals([success, files.findKind("pipe")], [true, null]);
});

Deno.test("a root that cannot be read is refused with what to do (L61)", async () => {
  await using place = await makePlace();
  const missing = assertThrows(() => openCgroupFiles(`${place.path}/none`), Error);
  assertStringIncludes(
    missing.message,
    `Cannot read cgroups in "${place.path}/none": it is not there; mount the cgroups`,
  );
  // Without all rights Deno reads nothing below /sys, whatever it was allowed.
  const refused = assertThrows(() => openCgroupFiles("/sys/fs/cgroup"), Error);
  assertStringIncludes(refused.message, "Deno lets no program read below /sys; mount the cgroups elsewhere");
});

async function makePlace() {
  const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "podfit-cgroup-test-" }));
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

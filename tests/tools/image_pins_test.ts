/** Is every part of the image that others made the pinned one, and does the SBOM name each? */
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "#assert";
import { fetchPackage, MIRRORS, unpack } from "../../tools/image/fetch.ts";
import { readPinnedLibraries } from "../../tools/image/libraries.ts";
import { checkRuntime, PINS, type Pins, readPinned, toSha256, toSnapshot } from "../../tools/image/pins.ts";
import { readIntegrities, type SbomInput, toSbom } from "../../tools/image/sbom.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const LIBC = { path: "lib/x/libc.so.6", from: "lib/x/libc.so.6", package: "libc6", sha256: toSha256(bytes("libc")) };
const NOTICE = { path: "podfit/notices/a.txt", from: "usr/a", package: "libc6", sha256: toSha256(bytes("notice")) };
const SMALL: Pins = {
  runtime: { package: "@deno/x", version: "1.2.3", integrity: "sha512-", sha256: toSha256(bytes("deno")) },
  packages: [{ name: "libc6", version: "2.36-9+deb12u14", path: "pool/libc6.deb", sha256: toSha256(bytes("deb")) }],
  files: [LIBC, NOTICE],
};

Deno.test("pins.json has the Deno of .dvmrc and, for both architectures, every library that the runtime names", async () => {
  const version = (await Deno.readTextFile(new URL("../../.dvmrc", import.meta.url))).trim();
  for (
    const [architecture, loader] of [["amd64", "ld-linux-x86-64.so.2"], ["arm64", "ld-linux-aarch64.so.1"]] as const
  ) {
    const { runtime, packages, files } = PINS[architecture];
    assertEquals(runtime.version, version, architecture);
    const names = files.map(({ path }) => path.split("/").at(-1) ?? "");
    for (
      const name of ["libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", loader, "glibc.txt"]
    ) {
      assert(names.includes(name), `${architecture} has no ${name}`);
    }
    const sums = [runtime, ...packages, ...files].map(({ sha256 }) => sha256);
    assertEquals(sums.filter((sum) => !/^[0-9a-f]{64}$/.test(sum)), []);
    assertMatch(runtime.integrity, /^sha512-[A-Za-z0-9+/]{86}==$/);
    assertEquals(files.filter((file) => !packages.some(({ name }) => name === file.package)), []);
    assertEquals(packages.filter(({ path }) => !path.endsWith(`_${architecture}.deb`)), []);
  }
});

Deno.test("what image:pin finds is in the archive of the time that it writes, which is the last mirror", () => {
  assertEquals(toSnapshot(Date.UTC(2026, 11, 31, 23, 5, 9, 120)), "20270101T230509Z");
  assertMatch(PINS.snapshot, /^\d{8}T\d{6}Z$/);
  assertEquals(MIRRORS.at(-1)?.split("/").at(-1), PINS.snapshot);
});

Deno.test("a runtime or a library with another checksum is refused, with what to do", async () => {
  checkRuntime(bytes("deno"), SMALL);
  assertThrows(() => checkRuntime(bytes("other"), SMALL), Error, 'Run the task by "npx -y');
  await inFolder({ "lib/x/libc.so.6": "libc", "usr/a": "notice" }, async (root) => {
    const found = await readPinnedLibraries(root, SMALL);
    assertEquals(found.map(({ path, mode }) => [path, mode]), [
      ["lib/x/libc.so.6", 0o755],
      ["podfit/notices/a.txt", 0o644],
      ["etc/nsswitch.conf", 0o644],
    ]);
    await Deno.writeTextFile(`${root}/lib/x/libc.so.6`, "libc of another machine");
    await assertRejects(() => readPinned(root, SMALL), Error, "deno task image:fetch DIRECTORY");
  });
  await inFolder({ "usr/a": "notice" }, async (root) => {
    await assertRejects(() => readPinned(root, SMALL), Error, 'lib/x/libc.so.6". Fetch the pinned files');
  });
});

Deno.test("a package comes from the first mirror that has it with the right checksum", async () => {
  const asked: string[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, ({ url }) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    if (pathname.startsWith("/none/")) return new Response("no", { status: 404 });
    return new Response(pathname.startsWith("/bad/") ? "other" : "deb");
  });
  const at = (path: string) => `http://127.0.0.1:${server.addr.port}/${path}`;
  const [libc] = SMALL.packages;
  assert(libc !== undefined);
  assertEquals(await fetchPackage(libc, [at("none"), at("bad/"), at("good"), at("never")]), bytes("deb"));
  assertEquals(asked, ["/none/pool/libc6.deb", "/bad/pool/libc6.deb", "/good/pool/libc6.deb"]);
  const error = await assertRejects(
    () => fetchPackage(libc, [at("none"), at("bad")]),
    Error,
    "Cannot fetch libc6 2.36",
  );
  assertMatch(error.message, /HTTP 404; .* its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}$/);
});

Deno.test("a machine without dpkg-deb is told what to install", async () => {
  await assertRejects(
    () => unpack("libc6", { file: "/dev/null", directory: "/tmp", program: "no-such-dpkg-deb" }),
    Error,
    `Cannot find "no-such-dpkg-deb", which unpacks Debian packages: install your system's package "dpkg"`,
  );
});

const INPUT: SbomInput = {
  commit: "0123456789abcdef",
  os: "linux",
  architecture: "arm64",
  pins: SMALL,
  files: [
    { path: "podfit/deno", mode: 0o755, content: bytes("deno") },
    { path: LIBC.path, mode: 0o755, content: bytes("libc") },
    { path: "podfit/main.js", mode: 0o644, content: bytes("code") },
  ],
  packages: [{ name: "@logtape/logtape", version: "2.4.2" }],
  integrities: await readIntegrities(),
};

Deno.test("the SBOM names podfit and its commit, the runtime, each Debian and npm package, with version, purl and checksum", () => {
  const sbom = JSON.parse(toSbom(INPUT));
  // deno-lint-ignore no-explicit-any -- the document is text for others
  const rows = sbom.packages.map((one: any) => [
    `${one.name} ${one.versionInfo}`,
    one.externalRefs?.[0].referenceLocator,
    one.checksums?.[0].algorithm,
  ]);
  assertEquals(rows.slice(1), [
    [`deno ${Deno.version.deno}`, "pkg:npm/%40deno/x@1.2.3", "SHA256"],
    ["libc6 2.36-9+deb12u14", "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=arm64", "SHA256"],
    ["@logtape/logtape 2.4.2", "pkg:npm/%40logtape/logtape@2.4.2", "SHA512"],
  ]);
  assertEquals(sbom.packages[0].sourceInfo, "built from commit 0123456789abcdef");
  assertEquals(sbom.packages[1].checksums[0].checksumValue, SMALL.runtime.sha256);
  assertEquals(sbom.files[0].checksums[0].checksumValue, LIBC.sha256);
  const relations = sbom.relationships.map((one: Record<string, string>) => Object.values(one).join(" "));
  assert(relations.includes("SPDXRef-File-lib-x-libc.so.6 EXPANDED_FROM_ARCHIVE SPDXRef-Package-libc6"));
  assertEquals(relations[0], "SPDXRef-DOCUMENT DESCRIBES SPDXRef-Package-podfit");
});

Deno.test("the SBOM is the same for the same input, has another name for another one, and refuses a package without a checksum", () => {
  const name = (input: SbomInput) => JSON.parse(toSbom(input)).documentNamespace;
  assertEquals(toSbom(INPUT), toSbom(structuredClone(INPUT)));
  assert(name(INPUT) !== name({ ...INPUT, commit: "abcdef0123456789" }));
  assertThrows(() => toSbom({ ...INPUT, integrities: {} }), Error, "@logtape/logtape@2.4.2");
  const unpinned = JSON.parse(toSbom({ ...INPUT, pins: null }));
  assertEquals(unpinned.relationships.at(-1).relationshipType, "DESCRIBES");
});

/** A temporary folder with these files. */
async function inFolder(files: Readonly<Record<string, string>>, use: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(`${root}/${path.split("/").slice(0, -1).join("/")}`, { recursive: true });
      await Deno.writeTextFile(`${root}/${path}`, text);
    }
    await use(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** What do the steps of a release check, write and call? Nothing is published here. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "#assert";
import { parse, parseAll } from "../../../lib/runtime/yaml.ts";
import { type Image, writeArchive } from "../../../tools/image/archive.ts";
import { toImage } from "../../../tools/image/image.ts";
import { toSha256 } from "../../../tools/image/pins.ts";
import { readTar, writeTar } from "../../../tools/image/tar.ts";
import { placeImage, placeLinks, placeManifestImage, writeChart } from "../../../tools/release/chart.ts";
import { listFaults, toNotes } from "../../../tools/release/check.ts";
import { TARGETS, toArchiveName, toChartRepository, toImageName, VERSION } from "../../../tools/release/facts.ts";
import { mergeArchives, writeLayout } from "../../../tools/release/index.ts";
import { toChecksumFile, toFormula, toKrewManifest } from "../../../tools/release/metadata.ts";
import { open, publish } from "../../../tools/release/publish.ts";
import { chartTest } from "../../support/needs_helm.ts";

const PROJECT = new URL("../../../", import.meta.url);
const PLACE = { repository: "Acme/podfit", registry: "registry.example" };
const SUMS = Object.fromEntries(TARGETS.map((target, at) => [toArchiveName(target), `${at}`.repeat(64)]));
const CHART = `version: ${VERSION}\nappVersion: ${VERSION}\n`;
const CHANGELOG =
  `# Changelog\n\n## [9.9.9] - 2030-01-01\n\n- later\n\n## [${VERSION}] - 2029-12-31\n\n- this\n\n## [0.0.1] - 2020-01-01\n\n- old\n`;

Deno.test("a release needs one version in tag, deno.json, chart and CHANGELOG, and a date", () => {
  const good = { changelog: CHANGELOG, chart: CHART, tag: `v${VERSION}` };
  assertEquals(listFaults(good), []);
  const cases: readonly (readonly [Partial<typeof good>, RegExp])[] = [
    [{ tag: "v9.9.9" }, /^The tag is "v9.9.9"/],
    [{ chart: CHART.replace(`version: ${VERSION}`, "version: 9.9.9") }, /^Chart.yaml has the version 9.9.9/],
    [{ chart: CHART.replace(`appVersion: ${VERSION}`, "appVersion: 9.9.9") }, /^Chart.yaml has the appVersion 9.9.9/],
    [{ changelog: CHANGELOG.replace(`[${VERSION}]`, "[8.8.8]") }, /^CHANGELOG.md has no entry/],
    [{ changelog: CHANGELOG.replace("2029-12-31", "Unreleased") }, /^CHANGELOG.md has "Unreleased" where the date/],
  ];
  for (const [change, fault] of cases) {
    const faults = listFaults({ ...good, ...change });
    assertEquals(faults.length, 1, faults.join());
    assertMatch(faults[0] ?? "", fault);
  }
  // A dry run before the release has neither a tag nor a date.
  assertEquals(listFaults({ ...good, changelog: CHANGELOG.replace("2029-12-31", "Unreleased"), tag: null }), []);
});

Deno.test("the notes of a release are its own entry of CHANGELOG.md", async () => {
  assertEquals(toNotes(CHANGELOG), "- this\n");
  assertThrows(() => toNotes("# Changelog\n"), Error, "CHANGELOG.md has no entry");
  assert(toNotes(await Deno.readTextFile(new URL("CHANGELOG.md", PROJECT))).length > 1_000, "the project's own");
});

Deno.test("krew's manifest has each platform with the address and the checksum of its archive, and calls it kubectl-podfit", () => {
  // deno-lint-ignore no-explicit-any -- a manifest of krew
  const { metadata, spec } = parse(toKrewManifest(PLACE, SUMS)) as any;
  assertEquals([metadata.name, spec.version], ["podfit", `v${VERSION}`]);
  assert(spec.shortDescription.length <= 80, "krew's index wants a short one");
  assertEquals(
    spec.platforms.map((one: Record<string, unknown>) => [one["selector"], one["uri"], one["sha256"]]),
    TARGETS.map((target) => [
      { matchLabels: { os: target.os, arch: target.architecture } },
      `https://github.com/Acme/podfit/releases/download/v${VERSION}/${toArchiveName(target)}`,
      SUMS[toArchiveName(target)],
    ]),
  );
  const [{ bin, files }] = spec.platforms;
  assert(
    files.some((one: Record<string, string>) => one["from"] === "podfit" && one["to"] === bin),
    "podfit is renamed",
  );
  assertThrows(() => toKrewManifest(PLACE, {}), Error, "it has no checksum");
});

Deno.test("Homebrew's formula is Ruby, and has each platform once", () => {
  const formula = toFormula(PLACE, SUMS);
  for (const target of TARGETS) {
    const [os, cpu] = [target.os === "darwin" ? "macos" : "linux", target.architecture === "arm64" ? "arm" : "intel"];
    const block = new RegExp(`on_${os} do[^]*?on_${cpu} do\\n      url "([^"]+)"\\n      sha256 "(\\w+)"`).exec(
      formula,
    );
    assertEquals([block?.[1]?.split("/").at(-1), block?.[2]], [toArchiveName(target), SUMS[toArchiveName(target)]]);
  }
  const opened = formula.match(/\b(do|class|def)\b/g)?.length;
  assertEquals(formula.match(/^ *end$/gm)?.length, opened);
  assertThrows(() => toFormula(PLACE, {}), Error, "it has no checksum");
});

Deno.test("sha256sum accepts the file of checksums", async () => {
  await inFolder(async (dist) => {
    for (const name of ["b.tgz", "a.tar.gz"]) await Deno.writeTextFile(`${dist}/${name}`, name);
    const sums = Object.fromEntries(
      ["b.tgz", "a.tar.gz"].map((name) => [name, toSha256(new TextEncoder().encode(name))]),
    );
    await Deno.writeTextFile(`${dist}/SHA256SUMS`, toChecksumFile(sums));
    const { stdout } = await new Deno.Command("sha256sum", { args: ["--check", "SHA256SUMS"], cwd: dist }).output();
    assertEquals(new TextDecoder().decode(stdout), "a.tar.gz: OK\nb.tgz: OK\n");
  });
});

const FILES = [{ comment: "podfit", files: [{ path: "a", mode: 0o644, content: new TextEncoder().encode("a") }] }];
const AMD64: Image = { ...toImage(FILES, { tag: "localhost/podfit:test" }), architecture: "amd64" };

Deno.test("two archives become one layout, whose index names both by the digests that they had", async () => {
  const [amd64, arm64] = await Promise.all([AMD64, { ...AMD64, architecture: "arm64" }].map(writeArchive));
  assert(amd64 !== undefined && arm64 !== undefined);
  const merged = mergeArchives([arm64.content, amd64.content], "1.2.3");
  assertEquals(merged.manifests, { amd64: amd64.digest, arm64: arm64.digest });
  assertEquals(merged.digest, mergeArchives([amd64.content, arm64.content], "1.2.3").digest, "in any order");
  const files = new Map(merged.files.map(({ path, content }) => [path, content ?? new Uint8Array()]));
  const json = (path: string) => JSON.parse(new TextDecoder().decode(files.get(path)));
  const [top] = json("index.json").manifests;
  assertEquals([top.digest, top.annotations["org.opencontainers.image.ref.name"]], [merged.digest, "1.2.3"]);
  const index = json(`blobs/${merged.digest.replace(":", "/")}`);
  assertEquals(index.manifests.map((one: Record<string, unknown>) => [one["digest"], one["platform"]]), [
    [amd64.digest, { architecture: "amd64", os: "linux" }],
    [arm64.digest, { architecture: "arm64", os: "linux" }],
  ]);
  for (const [path, content] of files) {
    if (path.startsWith("blobs/")) assertEquals(path, `blobs/sha256/${toSha256(content)}`);
  }
  await inFolder(async (dist) => {
    await writeLayout(`${dist}/image`, merged);
    assertEquals(JSON.parse(await Deno.readTextFile(`${dist}/image/oci-layout`)), { imageLayoutVersion: "1.0.0" });
  });
});

Deno.test("images of one architecture and damaged images are not merged", async () => {
  const { content } = await writeArchive(AMD64);
  assertThrows(() => mergeArchives([content, content], "1"), Error, "two of them have the same architecture");
  const entries = [...readTar(content)].map(([path, bytes]) => {
    const isBlob = /^blobs\/sha256\/[0-9a-f]/.test(path);
    return { path, mode: 0o644, content: path.endsWith("/") ? null : isBlob ? new Uint8Array([...bytes, 0]) : bytes };
  });
  assertThrows(() => mergeArchives([writeTar(entries)], "1"), Error, "has another digest");
  assertThrows(() => mergeArchives([writeTar([])], "1"), Error, 'an archive has no "index.json"');
});

Deno.test("publishing copies the image, signs image, chart and checksums by digest, and opens the release last", async () => {
  const called: string[] = [];
  const run = (program: string, args: readonly string[]) => {
    called.push([program, ...args].join(" "));
    return Promise.resolve(args[0] === "inspect" ? "sha256:chart\n" : "");
  };
  await publish({ ...PLACE, dist: "d", digest: "sha256:image", files: ["a.tgz", "SHA256SUMS"] }, run);
  await open(PLACE, run);
  const minor = VERSION.split(".").slice(0, 2).join(".");
  assertEquals(called, [
    `skopeo copy --all --preserve-digests oci:d/image:${VERSION} docker://registry.example/acme/podfit:${VERSION}`,
    `skopeo copy --all --preserve-digests oci:d/image:${VERSION} docker://registry.example/acme/podfit:${minor}`,
    "cosign sign --yes --recursive registry.example/acme/podfit@sha256:image",
    `helm push d/podfit-${VERSION}.tgz oci://registry.example/acme/charts`,
    `skopeo inspect --format {{.Digest}} docker://registry.example/acme/charts/podfit:${VERSION}`,
    "cosign sign --yes registry.example/acme/charts/podfit@sha256:chart",
    "cosign sign-blob --yes --bundle d/SHA256SUMS.sigstore.json d/SHA256SUMS",
    `gh release create v${VERSION} --repo Acme/podfit --verify-tag --draft --title podfit ${VERSION} --notes-file d/notes.md ` +
    "d/a.tgz d/SHA256SUMS d/SHA256SUMS.sigstore.json",
    `gh release edit v${VERSION} --repo Acme/podfit --draft=false`,
  ]);
});

Deno.test("a failure ends the publishing: no release is opened without its signatures", async () => {
  const called: string[] = [];
  const run = (program: string, args: readonly string[]) => {
    called.push(program);
    return args[0] === "sign-blob" ? Promise.reject(new Error("no identity")) : Promise.resolve("sha256:chart");
  };
  await assertRejects(() => publish({ ...PLACE, dist: "d", digest: "sha256:1", files: [] }, run), Error, "no identity");
  assert(!called.includes("gh"));
});

const IMAGE = { name: toImageName(PLACE), digest: `sha256:${"a".repeat(64)}` };

Deno.test("the image of the release replaces the local one exactly where it belongs", async () => {
  const values = placeImage(await Deno.readTextFile(new URL("deploy/helm/values.yaml", PROJECT)), IMAGE);
  // deno-lint-ignore no-explicit-any -- values of any kind
  const { image } = parse(values) as any;
  assertEquals([image.repository, image.digest], [IMAGE.name, IMAGE.digest]);
  const chart = placeLinks(await Deno.readTextFile(new URL("deploy/helm/Chart.yaml", PROJECT)), PLACE, IMAGE);
  // deno-lint-ignore no-explicit-any -- Chart.yaml
  const { home, annotations } = parse(chart) as any;
  assertEquals(home, "https://github.com/Acme/podfit");
  assertEquals(parseAll(annotations["artifacthub.io/images"]), [[
    { name: "podfit", image: `${IMAGE.name}:${VERSION}@${IMAGE.digest}`, platforms: ["linux/amd64", "linux/arm64"] },
  ]]);
  assertThrows(() => placeImage("image: {}\n", IMAGE), Error, "is there 0 times, not once");
  assertThrows(() => placeManifestImage("image: other\n", IMAGE), Error, "it names no image localhost/podfit");
});

chartTest("the chart and the manifests of a release run the released image by its digest", async () => {
  await inFolder(async (dist) => {
    const written = await writeChart(dist, PLACE, IMAGE.digest);
    assertEquals(written, [
      `podfit-${VERSION}.tgz`,
      "install.yaml",
      "node-local.yaml",
      "sidecar.yaml",
      "quickstart.yaml",
    ]);
    for (const name of ["install.yaml", "node-local.yaml", "quickstart.yaml"]) {
      const images = (await Deno.readTextFile(`${dist}/${name}`)).match(/image: *\S*podfit\S*/g) ?? [];
      assert(images.length > 0, name);
      for (const image of images) assertStringIncludes(image, `${IMAGE.name}`);
      for (const image of images) assertStringIncludes(image, IMAGE.digest);
    }
    const { stdout } = await new Deno.Command("tar", {
      args: ["-xzOf", `${dist}/podfit-${VERSION}.tgz`, "podfit/values.yaml"],
    }).output();
    assertStringIncludes(new TextDecoder().decode(stdout), `  digest: ${IMAGE.digest}`);
  });
});

Deno.test("a dry run of the steps that need no network calls nothing and says what it would call", async () => {
  await inFolder(async (dist) => {
    await Deno.writeTextFile(`${dist}/image.json`, JSON.stringify({ digest: IMAGE.digest }));
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-q", "-P=dev", "tools/release/main.ts", "--dry-run", "--dist", dist, "--repository", "Acme/podfit"],
        ...["check", "metadata", "publish"],
      ],
      cwd: PROJECT,
    }).output();
    const text = new TextDecoder().decode(stdout);
    assert(success, new TextDecoder().decode(stderr));
    assertStringIncludes(text, `would run: cosign sign --yes --recursive ghcr.io/acme/podfit@${IMAGE.digest}`);
    assertMatch(text, /would run: gh release create .*podfit\.krew\.yaml .*podfit\.rb .*SHA256SUMS/);
    const names = (await Array.fromAsync(Deno.readDir(dist))).map(({ name }) => name).sort();
    assertEquals(names, ["SHA256SUMS", "image.json", "notes.md", "podfit.krew.yaml", "podfit.rb"]);
    const wrong = new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "-P=dev", "tools/release/main.ts", "--dist", dist, "metadata"],
      cwd: PROJECT,
    });
    assertStringIncludes(new TextDecoder().decode((await wrong.output()).stderr), "Cannot describe podfit_");
  });
});

Deno.test("names of images and charts are lower case, as registries want them", () => {
  assertEquals(toImageName(PLACE), "registry.example/acme/podfit");
  assertEquals(toChartRepository(PLACE), "oci://registry.example/acme/charts");
});

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

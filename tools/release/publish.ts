/**
 * Publishes what the other steps wrote: image and chart to the registry, signatures by the identity of the workflow, and
 * at last the release on GitHub. It stays a draft until the workflow has attested all of it.
 */
import { type Place, toChartRepository, toImageName, VERSION } from "./facts.ts";

/** Runs a program and resolves to what it prints. Rejects where it fails. */
export type Run = (program: string, args: readonly string[]) => Promise<string>;

export interface Published extends Place {
  readonly dist: string;
  /** Of the image's index. */
  readonly digest: string;
  /** Names in `dist`, for the release on GitHub. */
  readonly files: readonly string[];
}

/** Leaves a draft, which `open` makes public. Tags that are there already are written again with the same digest. */
export async function publish({ dist, digest, files, ...place }: Published, run: Run): Promise<void> {
  const image = toImageName(place);
  for (const tag of [VERSION, VERSION.split(".").slice(0, 2).join(".")]) {
    const layout = `oci:${dist}/image:${VERSION}`;
    await run("skopeo", ["copy", "--all", "--preserve-digests", layout, `docker://${image}:${tag}`]);
  }
  await run("cosign", ["sign", "--yes", "--recursive", `${image}@${digest}`]);
  const charts = toChartRepository(place);
  await run("helm", ["push", `${dist}/podfit-${VERSION}.tgz`, charts]);
  const chart = `${charts.replace("oci://", "")}/podfit`;
  const chartDigest = await run("skopeo", ["inspect", "--format", "{{.Digest}}", `docker://${chart}:${VERSION}`]);
  await run("cosign", ["sign", "--yes", `${chart}@${chartDigest.trim()}`]);
  const bundle = "SHA256SUMS.sigstore.json";
  await run("cosign", ["sign-blob", "--yes", "--bundle", `${dist}/${bundle}`, `${dist}/SHA256SUMS`]);
  const tag = `v${VERSION}`;
  const about = ["--repo", place.repository];
  const paths = [...files, bundle].map((name) => `${dist}/${name}`);
  const notes = ["--title", `podfit ${VERSION}`, "--notes-file", `${dist}/notes.md`];
  await run("gh", ["release", "create", tag, ...about, "--verify-tag", "--draft", ...notes, ...paths]);
}

/** Makes the draft public. */
export async function open({ repository }: Place, run: Run): Promise<void> {
  await run("gh", ["release", "edit", `v${VERSION}`, "--repo", repository, "--draft=false"]);
}

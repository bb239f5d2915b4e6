/**
 * Puts podfit's image together: the runtime, its libraries, podfit. A layer each, since they change at different times.
 */
import type { Image, ImageConfig, Layer } from "./archive.ts";
import { bundlePodfit, toProgram } from "./bundle.ts";
import { ENTRY_POINT, ENVIRONMENT, LABELS, USER } from "./facts.ts";
import { readLibraries, readPinnedLibraries } from "./libraries.ts";
import { listPackages, readNotices } from "./notices.ts";
import { type Architecture, checkRuntime, PINS } from "./pins.ts";
import { readIntegrities, SBOM_PATH, toSbom } from "./sbom.ts";
import { warmCache } from "./warm_cache.ts";

const ARCHITECTURES = { x86_64: "amd64", aarch64: "arm64" } as const;

/** Of the machine that runs this. */
export const ARCHITECTURE: Architecture = ARCHITECTURES[Deno.build.arch];

export const CONFIG: ImageConfig = {
  User: USER,
  Entrypoint: [ENTRY_POINT],
  // Without arguments a container is the daemon, as before `run` was a command.
  Cmd: ["run"],
  Env: Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`),
  WorkingDir: "/",
  ExposedPorts: { "8080/tcp": {} },
  Labels: LABELS,
};

/** For the machine that runs this, whose Deno and libraries the layers have. */
export function toImage(layers: readonly Layer[], { tag, compression = 9 }: ImageOptions): Image {
  return { tag, architecture: ARCHITECTURE, config: CONFIG, layers, compression };
}

export interface ImageOptions {
  readonly tag: string;
  /** Of gzip, 1 to 9. */
  readonly compression?: number;
}

export interface LayersOptions {
  /** For the metric podfit_build_info; "unknown" without it. */
  readonly commit?: string | undefined;
  /** The folder below which the pinned C libraries are. Without it: whatever this machine has. */
  readonly libraries?: string | undefined;
  /** Gets what is done next. */
  readonly onStep?: (step: ImageStep) => void;
}

/** What takes the time of an image, in this order. `libraries` and `archive` are steps of who calls it. */
export const IMAGE_STEPS = ["libraries", "bundle", "compile cache", "licences", "archive"] as const;

export type ImageStep = typeof IMAGE_STEPS[number];

/**
 * The runtime is the Deno that runs this. Rejects where a part cannot be made, its licence is missing, or a pinned part
 * is another one.
 */
export async function readLayers(
  { commit, libraries, onStep = () => {} }: LayersOptions = {},
): Promise<readonly Layer[]> {
  const pins = PINS[ARCHITECTURE];
  const runtime = { path: "podfit/deno", mode: 0o755, content: await Deno.readFile(Deno.execPath()) };
  if (libraries !== undefined) checkRuntime(runtime.content, pins);
  const found = libraries === undefined
    ? await readLibraries(Deno.execPath())
    : await readPinnedLibraries(libraries, pins);
  onStep("bundle");
  const program = toProgram(await bundlePodfit(commit));
  const packages = await listPackages();
  onStep("compile cache");
  const cache = await warmCache(program);
  onStep("licences");
  const own = [...program, ...cache, ...await readNotices(packages)];
  const sbom = toSbom({
    commit,
    os: "linux",
    architecture: ARCHITECTURE,
    pins: libraries === undefined ? null : pins,
    files: [runtime, ...found, ...own],
    packages,
    integrities: await readIntegrities(),
  });
  return [
    { comment: `Deno ${Deno.version.deno}`, files: [runtime] },
    { comment: "glibc and libgcc", files: found },
    { comment: "podfit", files: [...own, { path: SBOM_PATH, mode: 0o644, content: new TextEncoder().encode(sbom) }] },
  ];
}

/**
 * Puts podfit's image together: the runtime, its libraries, podfit. A layer each, since they change at different times.
 */
import type { Image, ImageConfig, Layer } from "./archive.ts";
import { bundlePodfit, toProgram } from "./bundle.ts";
import { ENTRY_POINT, ENVIRONMENT, LABELS, USER } from "./facts.ts";
import { readLibraries } from "./libraries.ts";
import { readNotices } from "./notices.ts";
import { warmCache } from "./warm_cache.ts";

const ARCHITECTURES = { x86_64: "amd64", aarch64: "arm64" } as const;

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
  return { tag, architecture: ARCHITECTURES[Deno.build.arch], config: CONFIG, layers, compression };
}

export interface ImageOptions {
  readonly tag: string;
  /** Of gzip, 1 to 9. */
  readonly compression?: number;
}

/**
 * The runtime is the Deno that runs this. `commit` is shown by the metric podfit_build_info; "unknown" without it.
 * Rejects where a part cannot be made or its licence is missing.
 */
export async function readLayers(commit?: string): Promise<readonly Layer[]> {
  const runtime = { path: "podfit/deno", mode: 0o755, content: await Deno.readFile(Deno.execPath()) };
  const program = toProgram(await bundlePodfit(commit));
  return [
    { comment: `Deno ${Deno.version.deno}`, files: [runtime] },
    { comment: "glibc and libgcc", files: await readLibraries(Deno.execPath()) },
    { comment: "podfit", files: [...program, ...await warmCache(program), ...await readNotices()] },
  ];
}

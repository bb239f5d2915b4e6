// deno-lint-ignore-file no-console
/**
 * `deno task image [--output FILE] [--tag NAME] [--commit HASH] [--libraries DIRECTORY | --unpinned] [--sbom FILE]`: writes
 * an image archive of podfit, without Docker and without root. The same commit gives the same digest, on each machine of
 * the same architecture: the runtime and the C libraries are those of pins.json, and any other is refused.
 *   ctr -n k8s.io images import podfit.tar
 *   docker load -i podfit.tar
 * `--commit` is the commit of the sources, for the metric podfit_build_info.
 * `--libraries` is the folder of `deno task image:fetch`. Without it the root of this machine is
 * taken if it has the same packages of Debian, and otherwise they are fetched. `--unpinned` takes what this machine has, for tests.
 * `--sbom` writes a copy of the image's /podfit/sbom.spdx.json.
 * `--rootfs DIRECTORY` writes the files alone, for the Dockerfile.
 *
 * Arguments of the container are podfit's own. It needs no volume, no writable path, no capability, no user
 * and, as every Deno, a /proc. What it may do follows from the permission sets of /podfit/deno.json. The entry point
 * `/podfit/podfit` is `/podfit/deno run -q -P=daemon /podfit/main.js`, with which each mode works; by the command of
 * its own mode (COMMANDS in facts.ts) a process may do less:
 *   central      /podfit/deno run -q --no-prompt -P=central /podfit/main.js
 *   node-local   the same with -P=node-local --allow-net=API_SERVER:PORT,0.0.0.0:8080,NODE_IP:10250
 *   sidecar      the same with -P=sidecar --allow-net=API_SERVER:PORT,0.0.0.0:8080
 *   a kubeconfig whose user is an exec plug-in    the same with -P=exec
 */
import { parseArgs } from "node:util";
import { openProgressLine } from "../../lib/cli/terminal/screen.ts";
import { writeArchive } from "./archive.ts";
import { VERSION } from "./facts.ts";
import { writeFiles } from "./files.ts";
import { findLibraries } from "./fetch.ts";
import { IMAGE_STEPS, type ImageStep, readLayers, toImage } from "./image.ts";
import { SBOM_PATH } from "./sbom.ts";

const { values } = parseArgs({
  options: {
    output: { type: "string", default: "podfit.tar" },
    tag: { type: "string", default: `localhost/podfit:${VERSION}` },
    rootfs: { type: "string" },
    commit: { type: "string" },
    libraries: { type: "string" },
    unpinned: { type: "boolean", default: false },
    sbom: { type: "string" },
  },
});
using progress = openProgressLine();
const onStep = (step: ImageStep) =>
  progress.show(`Building the image, step ${IMAGE_STEPS.indexOf(step) + 1} of ${IMAGE_STEPS.length}: ${step}`);
const stage = await Deno.makeTempDir();
onStep("libraries");
const layers = await readLayers({
  onStep,
  commit: values.commit || undefined,
  libraries: values.unpinned ? undefined : values.libraries ?? await findLibraries(stage),
}).finally(() => Deno.remove(stage, { recursive: true }));
if (values.sbom !== undefined) {
  const sbom = layers.flatMap(({ files }) => files).find(({ path }) => path === SBOM_PATH);
  await Deno.writeFile(values.sbom, sbom?.content ?? new Uint8Array());
}
if (values.rootfs !== undefined) await writeFiles(values.rootfs, layers.flatMap(({ files }) => files));
else {
  onStep("archive");
  const { content, compressedBytes, digest } = await writeArchive(toImage(layers, { tag: values.tag }));
  await Deno.writeFile(values.output, content);
  progress.show("");
  console.log(`${values.output}: ${values.tag}, ${(compressedBytes / 1e6).toFixed(1)} MB compressed, ${digest}`);
}

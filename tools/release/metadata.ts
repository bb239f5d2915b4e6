/** How package managers find the programs of a release: checksums, a manifest for krew, a formula for Homebrew. */
import { type Place, type Target, TARGETS, toArchiveName, toDownloadUrl, VERSION } from "./facts.ts";

/** SHA-256 by file name, in hexadecimal. */
export type Checksums = Readonly<Record<string, string>>;

const SUMMARY = "Why do my pods have their sizes? For podfit, which resizes pods in place";

/** As `sha256sum --check` reads them, sorted by name. */
export function toChecksumFile(checksums: Checksums): string {
  const names = Object.keys(checksums).sort();
  return names.map((name) => `${checksums[name]}  ${name}\n`).join("");
}

/** Throws for an archive without a checksum. Rules: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ */
export function toKrewManifest(place: Place, checksums: Checksums): string {
  const platforms = TARGETS.map((target) =>
    `  - selector:
      matchLabels:
        os: ${target.os}
        arch: ${target.architecture}
    uri: ${toDownloadUrl(place, toArchiveName(target))}
    sha256: "${getChecksum(checksums, target)}"
    bin: kubectl-podfit
    files:
    - from: podfit
      to: kubectl-podfit
    - from: LICENSE
      to: .
    - from: notices/*
      to: notices
`
  );
  return `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: podfit
spec:
  version: v${VERSION}
  homepage: https://github.com/${place.repository}
  shortDescription: ${SUMMARY}
  description: |
    Shows what podfit decided for a pod or a workload, and why: "kubectl podfit explain pod/NAME" and
    "kubectl podfit top". Checks manifests (lint), and tries policies on recorded usage (simulate, suggest).
  caveats: |
    "explain", "top" and "record" need podfit in the cluster, and the rights of the Role podfit-records-reader.
  platforms:
${platforms.join("")}`;
}

/** Throws for an archive without a checksum. */
export function toFormula(place: Place, checksums: Checksums): string {
  const blocks = (["darwin", "linux"] as const).map((os) => {
    const parts = TARGETS.filter((target) => target.os === os).map((target) =>
      `    ${target.architecture === "arm64" ? "on_arm" : "on_intel"} do
      url "${toDownloadUrl(place, toArchiveName(target))}"
      sha256 "${getChecksum(checksums, target)}"
    end
`
    );
    return `  ${os === "darwin" ? "on_macos" : "on_linux"} do\n${parts.join("")}  end\n`;
  });
  return `# Written by \`deno task release metadata\`.
class Podfit < Formula
  desc "Resizes the containers of running Kubernetes pods in place, by their usage"
  homepage "https://github.com/${place.repository}"
  version "${VERSION}"
  license "Apache-2.0"

${blocks.join("\n")}
  def install
    bin.install "podfit"
    bin.install_symlink "podfit" => "kubectl-podfit"
    prefix.install "notices", "sbom.spdx.json"
    generate_completions_from_executable(bin/"podfit", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/podfit --version")
  end
end
`;
}

function getChecksum(checksums: Checksums, target: Target): string {
  const name = toArchiveName(target);
  const found = checksums[name];
  if (found === undefined) throw new Error(`Cannot describe "${name}": it has no checksum`);
  return found;
}

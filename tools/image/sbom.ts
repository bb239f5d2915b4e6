/**
 * What the image, or the compiled program, is made of, as SPDX 2.3 in JSON: podfit, the Deno runtime, Debian's C
 * libraries and each bundled npm package, with versions, licences and checksums. It has no time of its own, so that the
 * same input gives the same bytes. Rules: https://spdx.github.io/spdx-spec/v2.3/
 */
import { VERSION } from "./facts.ts";
import type { Package } from "./notices.ts";
import { type Architecture, type Pins, toSha256 } from "./pins.ts";
import type { TarEntry } from "./tar.ts";

/** Where the image has it. */
export const SBOM_PATH = "podfit/sbom.spdx.json";

export interface SbomInput {
  readonly commit?: string | undefined;
  readonly os: "darwin" | "linux";
  readonly architecture: Architecture;
  /** `null` for parts of the machine that builds: then only their files are known. */
  readonly pins: Pins | null;
  /** All files but the SBOM. Those of podfit itself count as one package. */
  readonly files: readonly TarEntry[];
  readonly packages: readonly Pick<Package, "name" | "version">[];
  /** Of npm packages, by NAME@VERSION. */
  readonly integrities: Readonly<Record<string, { readonly integrity: string }>>;
}

/** What deno.lock says of npm packages. */
export async function readIntegrities(): Promise<SbomInput["integrities"]> {
  return JSON.parse(await Deno.readTextFile(new URL("../../deno.lock", import.meta.url))).npm;
}

interface SpdxPackage {
  readonly SPDXID: string;
  readonly name: string;
  readonly [field: string]: unknown;
}

const NONE = "NOASSERTION";
/** Licences as SPDX writes them, of the packages that say so in package.json and of what Debian's copyright files say. */
const DEBIAN_LICENCES: Readonly<Record<string, string>> = {
  libc6: "LGPL-2.1-or-later",
  "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
};

/** The document, as text that ends with a line break. Throws for a package without an integrity in deno.lock. */
export function toSbom(input: SbomInput): string {
  const { files, packages, pins } = input;
  const root: SpdxPackage = {
    ...toPackage("podfit", VERSION, "Apache-2.0"),
    primaryPackagePurpose: "APPLICATION",
    ...(input.commit === undefined ? {} : { sourceInfo: `built from commit ${input.commit}` }),
  };
  const parts = [toRuntime(input), ...toDebian(input), ...packages.map((one) => toNpm(one, input.integrities))];
  const libraries = files.filter(({ path, content }) => path.startsWith("lib") && content !== null);
  const spdxFiles = libraries.map(({ path, content }) => ({
    SPDXID: toId("File", path),
    fileName: `./${path}`,
    checksums: toChecksums(toSha256(content ?? new Uint8Array())),
    licenseConcluded: NONE,
    copyrightText: NONE,
  }));
  const relationships = [
    toRelationship("SPDXRef-DOCUMENT", "DESCRIBES", root.SPDXID),
    ...parts.map((part) => toRelationship(root.SPDXID, "CONTAINS", part.SPDXID)),
    ...libraries.map(({ path }) => toOrigin(path, pins)),
  ];
  const body = { packages: [root, ...parts], files: spdxFiles, relationships };
  return `${
    JSON.stringify(
      {
        spdxVersion: "SPDX-2.3",
        dataLicense: "CC0-1.0",
        SPDXID: "SPDXRef-DOCUMENT",
        name: `podfit-${VERSION}-${input.os}-${input.architecture}`,
        documentNamespace: `https://spdx.org/spdxdocs/podfit-${VERSION}-${
          toSha256(encode(JSON.stringify([input.os, input.architecture, body])))
        }`,
        creationInfo: { created: "1970-01-01T00:00:00Z", creators: ["Tool: podfit-sbom"] },
        ...body,
      },
      null,
      2,
    )
  }\n`;
}

function toRuntime({ architecture, files, pins }: SbomInput): SpdxPackage {
  const runtime = files.find(({ path }) => path === "podfit/deno")?.content;
  return {
    ...toPackage("deno", Deno.version.deno, "MIT"),
    ...(runtime === undefined || runtime === null ? {} : { checksums: toChecksums(toSha256(runtime)) }),
    externalRefs: [
      toPurl(
        pins === null
          ? `pkg:generic/deno@${Deno.version.deno}?arch=${architecture}`
          : toNpmPurl(pins.runtime.package, pins.runtime.version),
      ),
    ],
  };
}

function toDebian({ architecture, pins }: SbomInput): readonly SpdxPackage[] {
  return (pins?.packages ?? []).filter(({ name }) => name in DEBIAN_LICENCES).map(({ name, version, sha256 }) => ({
    ...toPackage(name, version, DEBIAN_LICENCES[name] ?? NONE),
    supplier: "Organization: Debian",
    checksums: toChecksums(sha256),
    externalRefs: [toPurl(`pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`)],
  }));
}

function toNpm(
  { name, version }: Pick<Package, "name" | "version">,
  integrities: SbomInput["integrities"],
): SpdxPackage {
  const integrity = integrities[`${name}@${version}`]?.integrity;
  const sha512 = /^sha512-(.+)$/.exec(integrity ?? "")?.[1];
  if (sha512 === undefined) {
    throw new Error(`Cannot describe package "${name}@${version}": deno.lock has no SHA-512 of it`);
  }
  return {
    ...toPackage(name, version, NONE),
    checksums: [{ algorithm: "SHA512", checksumValue: Uint8Array.fromBase64(sha512).toHex() }],
    externalRefs: [toPurl(toNpmPurl(name, version))],
  };
}

function toPackage(name: string, version: string, licence: string): SpdxPackage {
  return {
    SPDXID: toId("Package", name),
    name,
    versionInfo: version,
    downloadLocation: NONE,
    filesAnalyzed: false,
    licenseConcluded: NONE,
    licenseDeclared: licence,
    copyrightText: NONE,
  };
}

/** The package of a library; where packages are not known, the document describes the file on its own. */
function toOrigin(path: string, pins: Pins | null) {
  const owner = pins?.files.find((file) => file.path === path)?.package;
  return owner === undefined
    ? toRelationship("SPDXRef-DOCUMENT", "DESCRIBES", toId("File", path))
    : toRelationship(toId("File", path), "EXPANDED_FROM_ARCHIVE", toId("Package", owner));
}

function toRelationship(from: string, relationshipType: string, to: string) {
  return { spdxElementId: from, relationshipType, relatedSpdxElement: to };
}

function toChecksums(sha256: string) {
  return [{ algorithm: "SHA256", checksumValue: sha256 }];
}

function toNpmPurl(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function toPurl(locator: string) {
  return { referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: locator };
}

/** Of letters, digits, dots and hyphens, as SPDX wants it. */
function toId(kind: "File" | "Package", name: string): string {
  return `SPDXRef-${kind}-${name.replaceAll(/[^A-Za-z0-9.]+/g, "-").replace(/^-/, "")}`;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

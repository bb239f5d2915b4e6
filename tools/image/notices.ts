/**
 * The licences of podfit, the Deno runtime and each npm package that is bundled: one file each in /podfit/notices. Those
 * of the C libraries come with these (libraries.ts).
 */
import { LEFT_OUT } from "./facts.ts";
import type { TarEntry } from "./tar.ts";

const PROJECT = new URL("../../", import.meta.url);
const DENO_LICENSE = new URL("./deno_license.txt", import.meta.url);

/**
 * `packages`: the bundled ones. Rejects where a licence is missing: an image without it may not be given to anybody.
 */
export async function readNotices(packages: readonly Package[]): Promise<readonly TarEntry[]> {
  const texts = [
    ["podfit.txt", await Deno.readTextFile(new URL("LICENSE", PROJECT))],
    ["deno.txt", await Deno.readTextFile(DENO_LICENSE)],
    ...await Promise.all(packages.map(readPackageNotice)),
  ] as const;
  const encoder = new TextEncoder();
  return texts.map(([name, text]) => ({ path: `podfit/notices/${name}`, mode: 0o644, content: encoder.encode(text) }));
}

/** What `deno info --json` says of a package. */
export interface Package {
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
  /** Where its files are. */
  readonly localPath: string;
}

export interface Graph {
  readonly roots: readonly string[];
  readonly redirects: Readonly<Record<string, string>>;
  readonly modules: readonly GraphModule[];
  readonly npmPackages: Readonly<Record<string, Package>>;
}

interface GraphModule {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier: string };
  }[];
}

/** The npm packages of a bundle without the module `leftOut`, as main.ts or what it imports names it. */
export async function listPackages(leftOut: string | null = LEFT_OUT): Promise<readonly Package[]> {
  const args = ["info", "--json", "main.ts"];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: PROJECT }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot list the packages of podfit: ${decoder.decode(stderr).trim()}`);
  return listReachedPackages(JSON.parse(decoder.decode(stdout)), leftOut);
}

/**
 * The packages that the modules of the image import, and all that these need. The lock file knows more: those that only
 * tools, tests and the demo load.
 */
export function listReachedPackages(graph: Graph, leftOut: string | null = LEFT_OUT): readonly Package[] {
  const { npmPackages } = graph;
  const waiting = listModules(graph, leftOut).flatMap((specifier) =>
    /^npm:\/?(@?[^@]+@[^/]+)/.exec(specifier)?.[1] ?? []
  );
  const reached = new Map<string, Package>();
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (reached.has(id)) continue;
    const found = npmPackages[id];
    if (found === undefined) throw new Error(`Cannot find package "${id}" in the module graph`);
    reached.set(id, found);
    waiting.push(...found.dependencies);
  }
  return [...reached.values()];
}

/** What the roots import, also by `import()`, without what the bundle leaves out. */
function listModules({ roots, redirects, modules }: Graph, leftOut: string | null): readonly string[] {
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const reached = new Set<string>();
  const waiting = [...roots];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const specifier = redirects[next] ?? next;
    if (reached.has(specifier)) continue;
    reached.add(specifier);
    const dependencies = (known.get(specifier)?.dependencies ?? []).filter((one) => one.specifier !== leftOut);
    waiting.push(...dependencies.flatMap(({ code }) => code?.specifier ?? []));
  }
  return [...reached];
}

async function readPackageNotice({ name, version, localPath }: Package): Promise<readonly [string, string]> {
  const files = (await Array.fromAsync(Deno.readDir(localPath))).map((file) => file.name)
    .filter((file) => /^(licen[cs]e|copying|copyright|notice)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => Deno.readTextFile(`${localPath}/${file}`)));
  const fields = JSON.parse(await Deno.readTextFile(`${localPath}/package.json`));
  if (texts.length === 0) texts.push(describeLicence(fields));
  return [`npm-${name.replace("/", "-")}-${version}.txt`, `${name} ${version}\n\n${texts.join("\n")}`];
}

interface PackageFields {
  readonly name: string;
  readonly license?: string;
  readonly author?: string | { readonly name?: string };
  readonly homepage?: string;
}

/** For packages that come without the text; throws for a licence that asks for more than these words. */
export function describeLicence({ name, license, author, homepage = "" }: PackageFields): string {
  if (license !== "MIT") throw new Error(`Cannot find the licence of package "${name}": it says "${license ?? ""}"`);
  const holder = typeof author === "string" ? author : author?.name ?? `the authors of ${name}`;
  return `${homepage}\n\nMIT License\n\nCopyright (c) ${holder}\n\n${MIT}`;
}

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`;

// deno-lint-ignore-file no-console
/**
 * `deno task workflows`: checks .github/workflows with actionlint, which it installs from its Go module once. Without Go it
 * says that it checked nothing, and ends well: tests/tools/workflows_test.ts holds the project's own rules in any case.
 */
const ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";
const ROOT = new URL("../", import.meta.url).pathname;

/** The folder of the program; its name has the version, so another version is installed anew. */
export function toCacheFolder(getEnv: (name: string) => string | undefined): string {
  const cache = getEnv("XDG_CACHE_HOME") || `${getEnv("HOME") ?? "."}/.cache`;
  return `${cache}/podfit-tools/${ACTIONLINT.split("/").at(-1)}`;
}

/** Resolves to the path of actionlint, or to `null` where Go is missing. Rejects if Go cannot install it. */
export async function findActionlint(
  getEnv: (name: string) => string | undefined = (name) => Deno.env.get(name),
): Promise<string | null> {
  const folder = toCacheFolder(getEnv);
  const program = `${folder}/actionlint`;
  if (await Deno.stat(program).then(() => true, () => false)) return program;
  const path = getEnv("PATH") ?? "";
  const env = { PATH: path, HOME: getEnv("HOME") ?? "", GOBIN: folder };
  const go = await findOnPath("go", path);
  if (go === null) return null;
  const { success, stderr } = await new Deno.Command(go, { args: ["install", ACTIONLINT], env }).output();
  if (!success) throw new Error(`Cannot install actionlint: ${new TextDecoder().decode(stderr).trim()}`);
  return program;
}

async function findOnPath(name: string, path: string): Promise<string | null> {
  for (const folder of path.split(":").filter((one) => one !== "")) {
    const file = `${folder}/${name}`;
    if (await Deno.stat(file).then(({ isFile }) => isFile, () => false)) return file;
  }
  return null;
}

if (import.meta.main) {
  const program = await findActionlint();
  if (program === null) console.log("Not checked: actionlint is installed with Go, and there is no go in PATH");
  else {
    const { code } = await new Deno.Command(program, { cwd: ROOT, stdout: "inherit", stderr: "inherit" }).output();
    if (code === 0) console.log("actionlint finds nothing wrong in .github/workflows");
    Deno.exitCode = code;
  }
}

/** One rule of exit codes for every command: 2, and one line on stderr, where podfit could not do what it was asked. */
import { assert, assertEquals } from "#assert";
import { readProgram } from "../support/completions.ts";
import {
  type ApiServer,
  findClosedPort,
  type Place,
  runPodfit,
  serveApi,
  writeKubeconfig,
} from "../support/podfit_process.ts";

/** Command lines that cannot be done. `null`: the command reads no file, or asks no cluster. */
interface Impossible {
  readonly flag: string;
  readonly file: string | null;
  /** Without `--kubeconfig`, which names a server that does not answer. */
  readonly cluster: string | null;
  /** The same, where the server refuses every request. */
  readonly right: string | null;
  /** What stderr has in place of one line about the right. */
  readonly rights?: readonly string[];
}

/** It has a kubeconfig to read; then it waits for its cluster, as a daemon must. */
const DAEMON: Impossible = { flag: "run --bogus", file: "run --kubeconfig /no/such", cluster: null, right: null };

/** Neither files nor a cluster. */
const alone = (flag: string): Impossible => ({ flag, file: null, cluster: null, right: null });

const LINES: Readonly<Record<string, Impossible>> = {
  run: DAEMON,
  adopt: {
    flag: "adopt so/web --bogus",
    file: "adopt so/web --kubeconfig /no/such",
    cluster: "adopt so/web",
    right: "adopt so/web",
  },
  completion: alone("completion bash --bogus"),
  demo: alone("demo --bogus"),
  explain: {
    flag: "explain web --bogus",
    file: "explain web --kubeconfig /no/such",
    cluster: "explain pod/web",
    right: "explain pod/web",
  },
  lint: {
    flag: "lint --bogus",
    file: "lint -f /no/such",
    cluster: "lint --cluster",
    right: "lint --cluster",
    // It checks what it may read, so each missing right is a line.
    rights: [
      "grant list of podresourceautoscalers in namespace",
      "grant list of scaledobjects in namespace",
      "nothing was checked",
    ],
  },
  record: {
    flag: "record web --bogus",
    file: "record web --url http://127.0.0.1:9 --token-file /no/such",
    cluster: "record web",
    right: "record web",
  },
  release: {
    flag: "release so/web --bogus",
    file: "release so/web --kubeconfig /no/such",
    cluster: "release so/web",
    right: "release -A",
  },
  replay: { flag: "replay --bogus", file: "replay /no/such", cluster: null, right: null },
  sample: alone("sample --bogus"),
  simulate: {
    flag: "simulate -f web.yaml --load web.csv --bogus",
    file: "simulate -f /no/such --load /no/such",
    cluster: null,
    right: null,
  },
  suggest: {
    flag: "suggest --bogus",
    file: "suggest deploy/web --load /no/such",
    cluster: "suggest deploy/web",
    right: "suggest --all",
  },
  top: { flag: "top --bogus", file: "top --kubeconfig /no/such", cluster: "top", right: "top -A" },
  version: alone("version --bogus"),
  help: alone("help --bogus"),
};

Deno.test("every command is in the table of what cannot be done", () => {
  assertEquals(Object.keys(LINES).sort(), readProgram().commands.map((command) => command.name()).sort());
});

for (const [name, { flag, file, cluster, right, rights = ["pods is forbidden: not you; "] }] of Object.entries(LINES)) {
  Deno.test(`podfit ${name} ends with 2 and one line: a wrong flag, a missing file, a dead cluster, a missing right`, async () => {
    const see = ["help", "version"].includes(name) ? "podfit --help" : `podfit ${name} --help`;
    await assertImpossible(flag, [`unknown option '--bogus'`, `; see ${see}`]);
    if (file !== null) await assertImpossible(file, [`"/no/such": no such file`, "; "]);
    const address = `http://127.0.0.1:${findClosedPort()}`;
    if (cluster !== null) {
      await using dead = await writeKubeconfig(address);
      await assertImpossible(`${cluster} --kubeconfig ${dead.path}`, [address, "refused", "; is it running"]);
    }
    if (right !== null) {
      await using server = refuseAll();
      await using refusing: Place = await writeKubeconfig(server.origin);
      await assertFails(`${right} --kubeconfig ${refusing.path}`, rights.map((one) => [one]));
    }
  });
}

/** One line on stderr, with these parts. */
function assertImpossible(line: string, parts: readonly string[]): Promise<void> {
  return assertFails(line, [parts]);
}

async function assertFails(line: string, expected: readonly (readonly string[])[]): Promise<void> {
  const { code, stdout, complaints } = await runPodfit({ args: line.split(" "), env: { PRA_ENABLED: "true" } });
  const context = `${line}\n${stdout}\n${complaints.join("\n")}`;
  assertEquals([code, stdout, complaints.length], [2, "", expected.length], context);
  for (const [at, parts] of expected.entries()) {
    const said = complaints[at] ?? "";
    assert(said.startsWith("podfit: ") && parts.every((part) => said.includes(part)), `${line}: ${said}`);
  }
}

function refuseAll(): ApiServer {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403 };
  return serveApi(() => Response.json({ ...status, message: "pods is forbidden: not you" }, { status: 403 }));
}

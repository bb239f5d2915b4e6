/**
 * What an image of podfit is, however it is made: paths, user, entry point, environment, permissions, labels. The tool
 * builds by this table, and a test compares the Dockerfile with it.
 */
import project from "../../deno.json" with { type: "json" };

/** All of podfit is in one folder. Only libraries are outside, where the loader looks for them. */
export const ROOT = "/podfit";
/** A script whose interpreter is a script whose interpreter is Deno: so no shell and no launcher is needed. */
export const ENTRY_POINT = `${ROOT}/podfit`;
export const RUNTIME = `${ROOT}/deno`;
/**
 * The module that the image goes without, as lib/cli/commands.ts imports it: the demo, and with it the embedded cluster
 * and its packages.
 */
export const LEFT_OUT = "./demo/demo.ts";
/** It is the same version in every place: deno.json's. */
export const VERSION: string = project.version;
/** Neither root nor anybody on a node: the user that "nonroot" images have. */
export const USER = "65532:65532";

const V8_FLAGS = /--v8-flags=(\S+)/.exec(project.tasks.start)?.[1] ?? "";

/** Deno writes nothing there: it is part of the image and read-only. */
export const CACHE = `${ROOT}/cache`;

export const ENVIRONMENT = {
  DENO_DIR: CACHE,
  /** A look for a newer Deno would load the public roots, and podfit trusts none. */
  DENO_NO_UPDATE_CHECK: "1",
  /** The heap limit follows the container's memory limit. */
  DENO_USE_CGROUPS: "1",
  DENO_V8_FLAGS: V8_FLAGS,
  /**
   * Memory outside of V8's heap: glibc keeps what is freed for later, some 60 MiB on a large cluster. With these two it
   * gives blocks of 32 KiB and more back at once. https://man7.org/linux/man-pages/man3/mallopt.3.html
   */
  MALLOC_MMAP_THRESHOLD_: "32768",
  MALLOC_TRIM_THRESHOLD_: "65536",
  NO_COLOR: "1",
} as const;

export const LABELS = {
  "org.opencontainers.image.title": "podfit",
  "org.opencontainers.image.description": "Resizes the containers of running pods in place, by their usage",
  "org.opencontainers.image.licenses": "Apache-2.0",
  "org.opencontainers.image.version": VERSION,
} as const;

/**
 * Two scripts, because Deno takes a file without an extension for TypeScript, and would load its compiler at each
 * start: the kernel runs `/podfit/deno -qP=daemon /podfit/start.js /podfit/podfit ARGUMENT...`. It hands an interpreter
 * no more than one argument. `-q`: else Deno says at each start that permissions in a file are experimental.
 */
export const SCRIPTS = {
  "podfit/podfit": `#!${ROOT}/start.js\n`,
  "podfit/start.js": `#!${RUNTIME} -qP=daemon\n` +
    `if (Deno.args[0] === "${ENTRY_POINT}") Deno.args.shift();\nawait import("./main.js");\n`,
} as const;

const { daemon, exec } = project.permissions;
/** Commands are loaded on request, and are not in the graph that Deno reads at the start. */
const read = [...daemon.read, ROOT];
/** Metadata services of clouds, and other neighbours of a node's own link, are denied. */
const { net } = daemon;

/** Sets of the image's deno.json, for `-P`. Those without `net` get it from the command line (see main.ts). */
export const PERMISSIONS = {
  /** The entry point's: every mode works with it. */
  daemon: { ...daemon, net, read },
  /** With a kubeconfig that names an exec plug-in. */
  exec: { ...daemon, net, read, run: exec.run },
  central: { env: daemon.env, net, read: read.filter((path) => path !== "/host/cgroup") },
  "node-local": { env: daemon.env, read },
  sidecar: { env: daemon.env, read },
} as const;

/** The API server and both listeners; `$(...)`: what Kubernetes puts in. An IPv6 address stands between brackets. */
const NET = ["$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)", "0.0.0.0:8080", "0.0.0.0:8081"];

/** Commands in place of the entry point, with which a process may do no more than its mode asks for. */
export const COMMANDS = {
  central: toCommand("central"),
  /** NODE_IP: `status.hostIP`. Without it where usage comes from cgroups. */
  "node-local": toCommand("node-local", [...NET, "$(NODE_IP):10250"]),
  sidecar: toCommand("sidecar", NET),
  /** For `--kubeconfig /etc/podfit/...`, whose user is an exec plug-in. */
  exec: toCommand("exec"),
} as const;

function toCommand(set: keyof typeof PERMISSIONS, net: readonly string[] = []): readonly string[] {
  const narrowed = net.length === 0 ? [] : [`--allow-net=${net.join()}`];
  return [RUNTIME, "run", "-q", "--no-prompt", `-P=${set}`, ...narrowed, `${ROOT}/main.js`];
}

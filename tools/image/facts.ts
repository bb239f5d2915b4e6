/**
 * What an image of podfit is, however it is made: paths, user, entry point, environment, permissions, labels. The tool
 * builds by this table, and a test compares the Dockerfile with it.
 */
import project from "../../deno.json" with { type: "json" };

/** All of podfit stands in one folder. Only libraries stand outside, where the loader looks for them. */
export const ROOT = "/podfit";
/** A script of two lines: the kernel runs it with Deno as its interpreter, so no shell and no launcher is needed. */
export const ENTRY_POINT = `${ROOT}/podfit`;
export const RUNTIME = `${ROOT}/deno`;
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
  NO_COLOR: "1",
} as const;

export const LABELS = {
  "org.opencontainers.image.title": "podfit",
  "org.opencontainers.image.description": "Resizes the containers of running pods in place, by their usage",
  "org.opencontainers.image.licenses": "Apache-2.0",
  "org.opencontainers.image.version": VERSION,
} as const;

/**
 * The kernel hands the interpreter one argument. `-q`: Deno would say at each start that permissions in a file are new.
 * Not the bundle itself: Deno takes a file without an extension for TypeScript, and would compile it at each start.
 */
export const ENTRY_SCRIPT = `#!${RUNTIME} -qP=daemon\nimport "./main.js";\n`;

const { daemon, exec } = project.permissions;
/** Commands that are loaded on request, and are no part of the graph that Deno reads at the start. */
const read = [...daemon.read, ROOT];
/** Metadata services of clouds, and other neighbours of a node's own link: podfit dials none. */
const net = { allow: true, deny: ["169.254.0.0/16"] };

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

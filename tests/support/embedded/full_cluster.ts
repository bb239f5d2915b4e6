/**
 * The embedded cluster with what only tests need: it checks custom resources by their schemas and rules.
 */
import {
  type Cluster,
  type ClusterOptions,
  serveCluster,
  type ServedCluster,
  startCluster,
} from "../../../lib/embedded/cluster.ts";
import {
  type ApiServerOptions,
  createApiServer,
  type EmbeddedApiServer,
} from "../../../lib/embedded/server/http/handler.ts";
import { BUILT_IN } from "../../../lib/embedded/server/kinds/catalog.ts";
import { createChecks } from "./custom/check.ts";
import { validateDefinition } from "./custom/definition.ts";

const FULL = {
  builtIn: BUILT_IN.map((type) => {
    return type.plural === "customresourcedefinitions" ? { ...type, validate: validateDefinition } : type;
  }),
  createChecks,
} satisfies Partial<ApiServerOptions>;

export function createFullApiServer(options: ApiServerOptions): EmbeddedApiServer {
  return createApiServer({ ...FULL, ...options });
}

/** In process; nothing of it listens anywhere. */
export async function startFullCluster(options: ClusterOptions): Promise<Cluster> {
  return await startCluster(toFull(options));
}

/** On 127.0.0.1, over TLS. */
export async function serveFullCluster(options: ClusterOptions): Promise<ServedCluster> {
  return await serveCluster(toFull(options));
}

function toFull(options: ClusterOptions): ClusterOptions {
  return { ...options, api: { ...FULL, ...options.api } };
}

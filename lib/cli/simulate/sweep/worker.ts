/**
 * Tries policies in a worker.
 *
 * The worker runs this module itself, so it is found in a bundle, too. It listens when its name says that it is such a
 * worker.
 */
import type { Manifest } from "../../manifests/files.ts";
import { type Trial, type Tried, tryPolicy } from "./try_policy.ts";

/** A worker that tries one policy at a time. */
export interface PolicyWorker extends Disposable {
  /** Rejects when the worker cannot start, or breaks. */
  readonly tryPolicy: (manifests: readonly Manifest[]) => Promise<Tried>;
}

const WORKER_NAME = "podfit sweep";

/** Starts a worker for the trial. Its errors appear at the first policy. */
export function startWorker(trial: Trial): PolicyWorker {
  const worker = new Worker(import.meta.url, { type: "module", name: WORKER_NAME });
  worker.postMessage({ trial });
  return {
    tryPolicy(manifests) {
      const answer = Promise.withResolvers<Tried>();
      worker.onmessage = ({ data }) => answer.resolve(data);
      worker.onerror = (event) => {
        // Else it would keep the process running.
        event.preventDefault();
        answer.reject(new Error(event.message));
      };
      worker.postMessage({ manifests });
      return answer.promise;
    },
    [Symbol.dispose]: () => worker.terminate(),
  };
}

type Message = { readonly trial: Trial } | { readonly manifests: readonly Manifest[] };

/** The members of a worker's global scope that the main thread lacks. */
interface WorkerScope {
  readonly name?: string;
  onmessage: ((event: { readonly data: Message }) => void) | null;
  readonly postMessage: (tried: Tried) => void;
}

function listen(scope: WorkerScope): void {
  let trial: Trial | null = null;
  scope.onmessage = ({ data }) => {
    if ("trial" in data) trial = data.trial;
    else if (trial !== null) scope.postMessage(tryPolicy(trial, data.manifests));
  };
}

const scope = globalThis as unknown as WorkerScope;
if (scope.name === WORKER_NAME) listen(scope);

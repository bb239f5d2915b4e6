/** The sink by which a sidecar says that it leaves its pod alone (C17): somebody has forgotten the label. */
import { explainForeign } from "../../core/pod/sidecar.ts";
import type { Log } from "../../runtime/log.ts";
import { formatName } from "../inventory/facts.ts";
import type { Sink } from "./sink.ts";

/** Says it once, and again when it has been otherwise in between. Of what other podfits leave to sidecars it says nothing. */
export function createForeignSink(log: Pick<Log, "warn">): Sink {
  let isSaid = false;
  return ({ input }) => {
    if (input.isSidecar !== true) return;
    const why = explainForeign(input);
    if (why !== null && !isSaid) log.warn("The pod is left as it is", { pod: formatName(input.pod), why });
    isSaid = why !== null;
  };
}

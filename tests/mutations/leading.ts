/** Slips in who leads, and in what a podfit may do that does not (C55). */
import type { Mutations } from "../../tools/mutation.ts";

export const LEADING: Mutations = {
  C55: [
    {
      breaks: "counts a leadership from the answer",
      in: "createElection",
      find: "untilMs = tried.sinceMs +",
      replace: "untilMs = clock.monotonic() +",
      test: "answers that come late do not prolong a leadership, which counts from when a renewal was sent (C55)",
    },
    {
      breaks: "starts sooner than another must stop",
      in: "createLeaseClaim",
      find: "clock.monotonic() - atMs >= record.durationMs",
      replace: "clock.monotonic() - atMs >= record.durationMs / 2",
      test: "a leader that is cut off stops by 10 s after its last renewal was sent, another starts after 15 s (C55)",
    },
    {
      breaks: "gives the Lease back while its work goes on",
      in: "createElection",
      find: "    try {\n      await work;\n    } finally {",
      replace: "    try {\n      void work;\n      over.abort();\n    } finally {",
      test: "a leader that ends releases the Lease when its work has ended, and another leads within a retry (C55)",
    },
    {
      breaks: "takes a deleted Lease at once",
      in: "createLeaseClaim",
      find: "atMs: clock.monotonic(), isGone: true",
      replace: "atMs: -Infinity, isGone: true",
      test: "a leader restores the Lease that was deleted, and nobody leads meanwhile who knew of it (C55)",
    },
    {
      breaks: "writes times that the API server refuses",
      in: "formatMicroTime",
      find: "000Z",
      replace: "Z",
      test: "formatMicroTime() writes six digits, whatever the millisecond (C55)",
    },
    {
      breaks: "acts beside the leader",
      in: "createDaemon",
      find: "leadership === null || isOfPart ? newControllers",
      replace: "leadership !== undefined ? newControllers",
      test: "a standby knows the cluster, polls nothing, writes nothing, and is ready (C55)",
    },
    {
      breaks: "renews its Lease when all other work is done",
      in: "createDaemon",
      find: "lease,\n    client: createClient({ origin, transport }),",
      replace: "lease,\n    client: createClient({ origin, transport: queued }),",
      test: "a leader renews its Lease however long its queue of work is (C55)",
    },
  ],
};

/** Who writes a status that sidecars and another podfit both see (C51). */
import { assertEquals } from "#assert";
import { isStatusOurs } from "../../../lib/daemon/status/facts.ts";
import { pod } from "../../support/builders.ts";

const PLAIN = pod();
const OF_SIDECAR = pod({ labels: { "podfit.dev/mode": "sidecar" } });

Deno.test("a status of sidecars' pods alone is theirs, every other one is not; without pods it is anybody's (C51)", () => {
  const modes = ["central", "node-local", "sidecar"] as const;
  const write = (...pods: (typeof PLAIN)[]) => modes.filter((mode) => isStatusOurs(mode, pods));
  assertEquals(write(PLAIN), ["central", "node-local"]);
  assertEquals(write(OF_SIDECAR, OF_SIDECAR), ["sidecar"]);
  assertEquals(write(OF_SIDECAR, PLAIN), ["central", "node-local"]);
  assertEquals(write(PLAIN, OF_SIDECAR), ["central", "node-local"]);
  assertEquals(write(), [...modes]);
});

/** At which addresses is a kubelet dialed? The node's status names them, and the credential goes there. */
import { assertEquals } from "#assert";
import { VirtualClock } from "../support/virtual_clock.ts";
import { openDirectSource } from "../../lib/usage/kubelet/fetch_summary.ts";
import { type AddressRules, toKubeletOrigin } from "../../lib/usage/kubelet/client.ts";
import type { StatusAddress } from "../../lib/usage/source.ts";
import { apiServer, assertFailed, nodeAt } from "../support/kubelet_source.ts";

const STRICT: AddressRules = { types: ["InternalIP"], allowsLoopback: false };
const BY_NAME: AddressRules = { types: ["Hostname", "InternalIP"], allowsLoopback: false };

const ORIGINS: readonly (readonly [address: string, origin: string])[] = [
  ["10.0.0.1", "https://10.0.0.1:10250"],
  ["203.0.113.255", "https://203.0.113.255:10250"],
  ["fd00::1", "https://[fd00::1]:10250"],
  ["2001:DB8:0:0:0:0:0:1", "https://[2001:db8::1]:10250"],
  ["::ffff:10.0.0.1", "https://[::ffff:a00:1]:10250"],
];
for (const [address, origin] of ORIGINS) {
  Deno.test(`toKubeletOrigin() dials ${address} as ${origin}`, () => assertEquals(dial(address), origin));
}

const REFUSED: readonly (readonly [address: string, why: string])[] = [
  ["node-1", "is not an IP address"],
  ["kubelet.evil.example", "is not an IP address"],
  ["evil.example/x", "is not an IP address"],
  ["a@10.0.0.1", "is not an IP address"],
  ["10.0.0.1 ", "is not an IP address"],
  ["10.0.0.1:443", "is not an IP address"],
  ["10.0.0.1/24", "is not an IP address"],
  ["", "is not an IP address"],
  ["::::", "is not an IP address"],
  ["fe80::1%eth0", "is not an IP address"],
  ["[fd00::1]", "is not an IP address"],
  // A URL would take the address for the name of a user, and what follows for the host.
  ["::1]@evil.example/[", "is not an IP address"],
  // A URL would take these for 127.0.0.1.
  ["2130706433", "is not an IP address"],
  ["0x7f.1", "is not an IP address"],
  ["127.1", "is not an IP address"],
  ["0177.0.0.1", "is not an IP address"],
  ["256.0.0.1", "is not an IP address"],
  ["127.0.0.1", "is a loopback address"],
  ["127.255.255.254", "is a loopback address"],
  ["::1", "is a loopback address"],
  ["0:0:0:0:0:0:0:1", "is a loopback address"],
  ["::ffff:127.0.0.1", "is a loopback address"],
  // Where clouds have the metadata of their machines, credentials among them.
  ["169.254.169.254", "is a link-local address"],
  ["::ffff:a9fe:a9fe", "is a link-local address"],
  ["fe80::1", "is a link-local address"],
  ["FEBF::1", "is a link-local address"],
  ["0.0.0.0", "is the unspecified address"],
  ["::", "is the unspecified address"],
  ["224.0.0.1", "is a multicast address"],
  ["239.255.255.255", "is a multicast address"],
  ["ff02::1", "is a multicast address"],
  ["255.255.255.255", "is a reserved address"],
];
for (const [address, why] of REFUSED) {
  Deno.test(`toKubeletOrigin() refuses ${JSON.stringify(address)}: it ${why} (C54)`, () => {
    assertEquals(dial(address).includes(why), true, dial(address));
  });
}

Deno.test("toKubeletOrigin() refuses what is no text and no port, as a status may hold anything", () => {
  for (const address of [7, null, undefined, {}, ["10.0.0.1"]]) {
    assertEquals(dial(address).endsWith("is not an IP address"), true, dial(address));
  }
  for (const port of [0, -1, 65536, 1.5, NaN, "1/x", null]) {
    const dialed = toKubeletOrigin({ ...nodeAt("10.0.0.1", 0), port: port as number }, STRICT);
    assertEquals(dialed, { kind: "refused", why: `its port ${port} is not a port number` });
  }
});

Deno.test("toKubeletOrigin() looks for no other type than those that the operator gives, in their order", () => {
  const addresses = [
    { type: "Hostname", address: "Node-1.example.com" },
    { type: "InternalDNS", address: "node-1.internal" },
    { type: "InternalIP", address: "10.0.0.1" },
    { type: "InternalIP", address: "fd00::1" },
  ];
  assertEquals(dialAny(addresses, STRICT), "https://10.0.0.1:10250");
  assertEquals(dialAny(addresses, BY_NAME), "https://node-1.example.com:10250");
  assertEquals(
    dialAny(addresses, { ...STRICT, types: ["ExternalDNS", "InternalDNS"] }),
    "https://node-1.internal:10250",
  );
  const none = "the node's status has no address of type InternalIP (--kubelet-preferred-address-types has others)";
  assertEquals([dialAny(addresses.slice(0, 2), STRICT), dialAny([], STRICT)], [none, none]);
});

Deno.test("toKubeletOrigin() takes no address for a name, and no name for one that leads elsewhere", () => {
  const byName = (address: string) => dialAny([{ type: "Hostname", address }], BY_NAME);
  assertEquals(byName("10.0.0.1"), "https://10.0.0.1:10250");
  for (const address of ["127.0.0.1", "::1", "169.254.169.254"]) {
    assertEquals(byName(address).includes("which does not lead to a node"), true, byName(address));
  }
  for (const address of ["a/b", "a:1", "x.1", "2130706433", "a@b", "-a", "a..b", ""]) {
    assertEquals(byName(address).endsWith("is not a host name"), true, byName(address));
  }
});

Deno.test("openDirectSource() dials nothing of podfit's own pod; outside of the cluster it may be on a node's machine", async () => {
  const ask = async (source: string, address: string) => {
    using kubelets = openDirectSource({ ...apiServer(), source }, { clock: new VirtualClock() });
    return await kubelets.fetchSummary(nodeAt(address, 1), new AbortController().signal);
  };
  const why = `at its kubelet: the node's InternalIP "127.0.0.1" is a loopback address, which does not lead to a node`;
  assertFailed(await ask("in-cluster", "127.0.0.1"), "unreachable", why);
  assertFailed(await ask("/a/kubeconfig", "::1"), "unreachable", "at https://[::1]:1: ");
  assertFailed(await ask("/a/kubeconfig", "169.254.169.254"), "unreachable", "is a link-local address");
});

function dial(address: unknown): string {
  return dialAny([{ type: "InternalIP", address: address as string }], STRICT);
}

/** The origin, or why there is none. */
function dialAny(addresses: readonly StatusAddress[], rules: AddressRules): string {
  const dialed = toKubeletOrigin({ addresses, port: 10250, maxPods: null }, rules);
  return dialed.kind === "origin" ? dialed.origin : dialed.why;
}

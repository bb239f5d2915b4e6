/** Addresses, what they are reserved for, and rules that name servers. */
import { assertEquals } from "#assert";
import {
  findAddressPurpose,
  findForbiddenPurpose,
  hostOf,
  matchesHost,
  parseHostRule,
  parseIp,
  portOf,
} from "../../lib/units/address.ts";

Deno.test("findForbiddenPurpose() knows link-local addresses and metadata services in every form (R13, R14)", () => {
  const metadata = ["168.63.129.16", "100.100.100.200", "192.0.0.192"];
  const table: Readonly<Record<string, readonly string[]>> = {
    "a link-local address": [
      "169.254.169.254",
      "169.254.0.1",
      "fe80::1",
      "fe80::1%eth0",
      "febf:ffff::1",
      "::ffff:169.254.169.254",
      "::ffff:a9fe:a9fe",
      "::169.254.169.254",
      "64:ff9b::169.254.169.254",
      "64:ff9b:1::a9fe:a9fe",
      "64:ff9b:1:2:3::a9fe:1",
      "2002:a9fe:a9fe::1",
    ],
    "the address of a cloud's metadata service": [
      ...metadata,
      ...metadata.map((address) => `::ffff:${address}`),
      ...metadata.map((address) => `64:ff9b::${address}`),
      "fd00:ec2::254",
      "fd00:0ec2:0:0:0:0:0:0254",
      "fd20:ce::254",
    ],
    "the unspecified address": ["0.0.0.0", "0.1.2.3", "::", "::ffff:0:0"],
    "a multicast address": ["224.0.0.1", "ff02::1", "64:ff9b::224.0.0.1"],
  };
  for (const [purpose, addresses] of Object.entries(table)) {
    for (const address of addresses) assertEquals(findForbiddenPurpose(address), purpose, address);
  }
});

Deno.test("findForbiddenPurpose() leaves other addresses and names alone (R13, R14)", () => {
  const others = ["10.96.0.1", "169.253.255.255", "169.255.0.0", "168.63.129.17", "100.100.100.201", "fd00:ec2::253"];
  const names = ["metadata.google.internal", "169.254.169.254.example", "fe80", ""];
  const loopback = ["127.0.0.1", "::1", "::ffff:7f00:1", "64:ff9b::127.0.0.1"];
  for (const address of [...others, ...names, ...loopback, "fec0::1", "2001:db8::a9fe:a9fe", "255.255.255.255"]) {
    assertEquals(findForbiddenPurpose(address), null, address);
  }
  for (const address of loopback) assertEquals(findAddressPurpose(address), "a loopback address", address);
});

Deno.test("parseIp() takes addresses and nothing else", () => {
  assertEquals(parseIp("10.1.2.255"), [10, 1, 2, 255]);
  assertEquals(parseIp("::1"), [...Array(15).fill(0), 1]);
  assertEquals(parseIp("1::"), [0, 1, ...Array(14).fill(0)]);
  assertEquals(parseIp("1:2:3:4:5:6:7:8"), [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]);
  for (
    const text of [
      "",
      "256.0.0.1",
      "1.2.3",
      "a:b",
      "localhost",
      ":::",
      "1::2::3",
      "10.0.0.0/8",
      "::1]/x[::1",
      `::1%${"x".repeat(61)}`,
    ]
  ) {
    assertEquals(parseIp(text), null, text);
  }
});

Deno.test("parseHostRule() and matchesHost() name hosts, suffixes and ranges, of one port or of all (R16)", () => {
  const table: readonly (readonly [rule: string, matching: readonly string[], others: readonly string[]])[] = [
    ["api", ["http://api", "http://api.:81", "http://API:80"], ["http://apis", "http://x.api", "http://api.x"]],
    ["api:8080", ["http://api:8080"], ["http://api", "http://api:8081"]],
    ["api:443", ["https://api"], ["http://api"]],
    ["*.shop.svc", ["http://a.shop.svc", "http://a.b.shop.svc:1"], ["http://shop.svc", "http://ashop.svc"]],
    ["*.shop.svc:90", ["http://a.shop.svc:90"], ["http://a.shop.svc"]],
    ["10.0.0.0/8", ["http://10.255.0.1", "http://[::ffff:10.1.1.1]"], ["http://11.0.0.1", "http://10.example"]],
    ["10.1.2.3:9090", ["http://10.1.2.3:9090"], ["http://10.1.2.3", "http://10.1.2.4:9090"]],
    ["192.168.128.0/17", ["http://192.168.128.1"], ["http://192.168.127.1"]],
    ["0.0.0.0/0", ["http://8.8.8.8"], ["http://[fd00::1]", "http://name"]],
    ["[fd00::1]:9090", ["http://[fd00::1]:9090"], ["http://[fd00::1]", "http://[fd00::2]:9090"]],
    ["fd00::/8", ["http://[fdff::1]"], ["http://[fc00::1]"]],
    ["64:ff9b::/96", ["http://[64:ff9b::1.2.3.4]"], ["http://1.2.3.4"]],
  ];
  for (const [text, matching, others] of table) {
    const rule = parseHostRule(text);
    if (rule === null) throw new Error(`${text} is a rule`);
    const matches = (address: string) => matchesHost([rule], hostOf(new URL(address)), portOf(new URL(address)));
    assertEquals(matching.filter(matches), matching, text);
    assertEquals(others.filter(matches), [], text);
  }
});

Deno.test("parseHostRule() refuses what names no host (R16)", () => {
  const bad = [
    "",
    "*",
    "*.",
    "a*",
    "a.*.b",
    "http://a",
    "a/b",
    "a:0",
    "a:65536",
    "a:b",
    "10.0.0.0/33",
    "1.2.3",
    "fd00::/129",
  ];
  for (const text of [...bad, "10.0.0.0/8/8", "a b", "[fd00::1", "-a", "a..b", "*.*.a"]) {
    assertEquals(parseHostRule(text), null, text);
  }
});

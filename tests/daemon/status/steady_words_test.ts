import { assertEquals } from "#assert";
import { toStableText } from "../../../lib/daemon/health.ts";

const SAME: readonly (readonly [string, string])[] = [
  [
    "error sending request from 10.0.0.5:40001 for https://10.0.0.1:10250/stats/summary (10.0.0.1:10250): reset",
    "error sending request from 10.0.0.5:51234 for https://10.0.0.1:10250/stats/summary (10.0.0.1:10250): reset",
  ],
  ["from [fd00::5]:40001 for https://[fd00::1]:10250", "from [fd00::5]:40002 for https://[fd00::1]:10250"],
  ["read tcp 10.0.0.5:40001->10.0.0.1:10250: i/o timeout", "read tcp 10.0.0.5:40017->10.0.0.1:10250: i/o timeout"],
  ["failed at 2026-11-20T11:00:00Z", "failed at 2026-11-20T11:00:05.123456Z"],
  ["request 6f9619ff-8b86-d011-b42d-00c04fc964ff failed", "request 00000000-8b86-d011-b42d-00c04fc964aa failed"],
  ["container 3f4a9b1c2d5e6f70 is gone", "container 0a4a9b1c2d5e6f71 is gone"],
  ["took 1.234567s", "took 12.5s"],
  ["took 350ms", "took 1.75ms"],
  ["counter 123456789 is behind", "counter 123456999 is behind"],
];

Deno.test("toStableText() leaves out what changes from one failure to the next (C51)", () => {
  for (const [one, another] of SAME) assertEquals(toStableText(one), toStableText(another));
});

const KEPT: readonly string[] = [
  'Cannot read usage of node "node-17" at https://10.0.0.1:10250: connection refused',
  "500 Internal Server Error",
  'no usage of 3 of 120 pods: pod "web-7d9f8b6c5-x2x4z" has had no new usage for 1m30s or more',
  "https://[fd00::1]:10250: no route to it from this network",
  'grant podfit the verb "get" on "nodes/stats" in its ClusterRole',
];

Deno.test("toStableText() keeps what names things", () => {
  for (const text of KEPT) assertEquals(toStableText(text), text);
});

import { assertEquals, assertRejects } from "#assert";
import {
  type Credential,
  CredentialCache,
  type LoadedCredential,
  toHeader,
} from "../../../lib/kube/config/credential.ts";

function bearer(token: string): Credential {
  return { authorization: { kind: "bearer", token }, clientCertificate: null };
}

/** Loads "1", "2" ... which live 10 ms; a load with a number in `fails` fails. */
function createCache(
  { fails = [], outlivesFailure = false }: { fails?: readonly number[]; outlivesFailure?: boolean },
) {
  const time = { now: 0 };
  let loads = 0;
  const load = (): Promise<LoadedCredential> => {
    loads++;
    if (fails.includes(loads)) return Promise.reject(new Error(`load ${loads} failed`));
    return Promise.resolve({ credential: bearer(String(loads)), expiresAt: time.now + 10 });
  };
  const cache = new CredentialCache(load, { now: () => time.now, outlivesFailure });
  return { time, read: cache.get };
}

Deno.test("CredentialCache loads once until the credential expires", async () => {
  const { time, read } = createCache({});
  assertEquals(await Promise.all([read(null), read(null)]), [bearer("1"), bearer("1")]);
  time.now = 9;
  assertEquals(await read(null), bearer("1"));
  time.now = 10;
  assertEquals(await read(null), bearer("2"));
});

Deno.test("CredentialCache loads at once when the server refused the credential, and once for all who were refused", async () => {
  const { read } = createCache({});
  const first = await read(null);
  assertEquals(await read(first), bearer("2"));
  assertEquals(await read(first), bearer("2"));
});

Deno.test("CredentialCache fails when an expired credential cannot be loaded again", async () => {
  const { time, read } = createCache({ fails: [2] });
  await read(null);
  time.now = 10;
  await assertRejects(() => read(null), Error, "load 2 failed");
  assertEquals(await read(null), bearer("3"));
});

Deno.test("CredentialCache that outlives failure keeps the last credential until it is refused", async () => {
  const { time, read } = createCache({ fails: [2, 3], outlivesFailure: true });
  const first = await read(null);
  time.now = 10;
  assertEquals(await read(null), first);
  await assertRejects(() => read(first), Error, "load 3 failed");
});

Deno.test("toHeader() encodes a password that is not ASCII", () => {
  assertEquals(toHeader({ kind: "basic", username: "a", password: "ü" }), "Basic YTrDvA==");
});

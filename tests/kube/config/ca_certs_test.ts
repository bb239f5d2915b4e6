import { assert, assertEquals, assertRejects } from "#assert";
import { createCaSource } from "../../../lib/kube/config/certificates.ts";
import { readTls } from "../../support/tls.ts";

const [ONE, TWO] = [readTls("ca.crt"), readTls("other-ca.crt")];

async function createFile(pem: string) {
  const path = await Deno.makeTempFile();
  await Deno.writeTextFile(path, pem);
  const time = { now: 0 };
  return {
    time,
    write: (text: string) => Deno.writeTextFile(path, text),
    remove: () => Deno.remove(path),
    read: createCaSource({ kind: "file", path }, { what: "certificate authority", now: () => time.now }),
    [Symbol.asyncDispose]: () => Deno.remove(path).catch(() => {}),
  };
}

Deno.test("createCaSource() reads the file again after 60 s, and gives the same array while it is the same", async () => {
  await using file = await createFile(ONE);
  const first = await file.read(null);
  assertEquals(first, [ONE]);
  file.time.now = 60_000;
  assert(await file.read(null) === first);
  await file.write(TWO);
  file.time.now = 119_999;
  assert(await file.read(null) === first);
  file.time.now = 120_000;
  assertEquals(await file.read(null), [TWO]);
});

Deno.test("createCaSource() reads the file again at once when it has just refused a server", async () => {
  await using file = await createFile(ONE);
  const first = await file.read(null);
  await file.write(TWO);
  const second = await file.read(first);
  assertEquals(second, [TWO]);
  // Another request was refused by the first, too.
  await file.write(ONE);
  assert(await file.read(first) === second);
});

Deno.test("createCaSource() gives the last good CA while the file is gone or is no PEM", async () => {
  await using file = await createFile(ONE);
  const first = await file.read(null);
  for (const spoil of [() => file.write("half a fi"), () => file.remove()]) {
    await spoil();
    file.time.now += 60_000;
    assert(await file.read(null) === first);
  }
});

Deno.test("createCaSource() says what is wrong with a CA that was never good", async () => {
  await using file = await createFile("hello");
  await assertRejects(() => file.read(null), Error, "Cannot use certificate authority");
  await file.write(ONE);
  assertEquals(await file.read(null), [ONE]);
});

Deno.test("createCaSource() gives what a kubeconfig holds itself, always", async () => {
  const read = createCaSource({ kind: "inline", pem: ONE }, { what: "certificate authority", now: () => 0 });
  const first = await read(null);
  assertEquals(first, [ONE]);
  assert(await read(first) === first);
});

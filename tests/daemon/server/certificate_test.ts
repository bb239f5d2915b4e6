/** Which certificate is shown, while its files are replaced, and what is said of files that will not do. */
import { assert, assertEquals, assertRejects } from "#assert";
import { type CertificateOptions, openCertificate } from "../../../lib/daemon/server/certificate.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { type CertificateFiles, createIssued, mountCertificate, type Pair } from "../../support/certificate_files.ts";

const [one, other] = await Promise.all([createIssued("one"), createIssued("other")]);

function listenTo({ certPath, keyPath }: CertificateFiles) {
  const clock = new VirtualClock();
  const said: string[] = [];
  const options: CertificateOptions = {
    certPath,
    keyPath,
    clock,
    onRenewed: () => said.push("renewed"),
    onRefused: ({ message }) => said.push(message.replaceAll(certPath, "CERT").replaceAll(keyPath, "KEY")),
  };
  return { clock, said, options };
}

Deno.test("openCertificate() shows other files within 10 s of the swap, and says so", async () => {
  await using files = await mountCertificate(one);
  const { clock, said, options } = listenTo(files);
  const read = await openCertificate(options);
  const first = await read();
  await files.swap(other);
  await clock.advance(9_999);
  assert(await read() === first);
  await clock.advance(1);
  const second = await read();
  assert(second !== first);
  await clock.advance(10_000);
  assert(await read() === second);
  assertEquals(said, ["renewed"]);
});

Deno.test("openCertificate() shows the old files on while new ones are bad, says each reason once, and takes the next good ones", async () => {
  await using files = await mountCertificate(one);
  const { clock, said, options } = listenTo(files);
  const read = await openCertificate(options);
  const first = await read();
  const look = async (pair: Pair) => {
    await files.swap(pair);
    await clock.advance(10_000);
    return await read();
  };
  for (let time = 0; time < 3; time++) assert(await look({ cert: other.cert, key: one.key }) === first);
  assert(await look({ cert: "", key: one.key }) === first);
  // The old ones are no news, and what was wrong before would be.
  assert(await look(one) === first);
  assert(await look({ cert: "", key: one.key }) === first);
  assert(await look(other) !== first);
  const empty = 'Cannot use --tls-cert-file "CERT": it holds no PEM block (-----BEGIN ...)';
  assertEquals(said, [
    'Cannot use --tls-cert-file "CERT" with --tls-private-key-file "KEY": the key is not that of the first certificate',
    empty,
    empty,
    "renewed",
  ]);
});

Deno.test("openCertificate() has many who connect at once look at the files once", async () => {
  await using files = await mountCertificate(one);
  const { clock, said, options } = listenTo(files);
  const read = await openCertificate(options);
  await files.swap(other);
  await clock.advance(10_000);
  const shown = await Promise.all(Array.from({ length: 50 }, () => read()));
  assertEquals([new Set(shown).size, said], [1, ["renewed"]]);
});

Deno.test("openCertificate() says at the start what is wrong with the files", async () => {
  const encrypted = one.key.replaceAll("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
  const both = 'Cannot use --tls-cert-file "CERT" with --tls-private-key-file "KEY": ';
  const cases: readonly (readonly [sentence: string, pair: Pair, message: string])[] = [
    [
      "no certificate",
      { cert: "", key: one.key },
      'Cannot use --tls-cert-file "CERT": it holds no PEM block (-----BEGIN ...)',
    ],
    [
      "no key",
      { cert: one.cert, key: "x" },
      'Cannot use --tls-private-key-file "KEY": it holds no PEM block (-----BEGIN ...)',
    ],
    ["another's key", { cert: one.cert, key: other.key }, `${both}the key is not that of the first certificate`],
    ["swapped", { cert: one.key, key: one.cert }, `${both}No certificates found in certificate data`],
    ["an encrypted key", { cert: one.cert, key: encrypted }, `${both}the key has a passphrase, and podfit takes none`],
    ["half a certificate", { cert: one.cert.slice(0, 300), key: one.key }, `${both}Unable to decode certificate`],
  ];
  for (const [sentence, pair, message] of cases) {
    await using files = await mountCertificate(pair);
    const { options } = listenTo(files);
    const error = await assertRejects(() => openCertificate(options), Error);
    const { certPath, keyPath } = files;
    assertEquals(error.message.replaceAll(certPath, "CERT").replaceAll(keyPath, "KEY"), message, sentence);
  }
});

Deno.test("openCertificate() names a file that is not there", async () => {
  await using files = await mountCertificate(one);
  const { options } = listenTo({ ...files, keyPath: "/nonexistent/tls.key" });
  await assertRejects(
    () => openCertificate(options),
    Error,
    'Cannot read --tls-private-key-file "/nonexistent/tls.key"',
  );
});

Deno.test("openCertificate() opens no socket to check files that have not changed", async () => {
  await using files = await mountCertificate(one);
  const { clock, said, options } = listenTo(files);
  const { listenTls } = Deno;
  let checks = 0;
  Deno.listenTls = (...args) => {
    checks++;
    return listenTls(...args);
  };
  try {
    const read = await openCertificate(options);
    for (let time = 0; time < 10; time++) {
      await clock.advance(10_000);
      await read();
    }
    assertEquals([checks, said], [1, []]);
    await files.swap(other);
    await clock.advance(10_000);
    await read();
    assertEquals([checks, said], [2, ["renewed"]]);
  } finally {
    Deno.listenTls = listenTls;
  }
});

/**
 * A certificate authority for servers on 127.0.0.1, made anew for each embedded cluster. Written in plain DER: all that
 * is needed is an ECDSA root and leaves for one address.
 * https://www.rfc-editor.org/rfc/rfc5280
 */

export interface Authority {
  /** PEM. */
  readonly caCert: string;
  /** A new certificate and key for servers on localhost, in PEM. */
  readonly issue: (commonName: string) => Promise<{ readonly cert: string; readonly key: string }>;
}

export async function createAuthority(commonName: string): Promise<Authority> {
  const root = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const sign = { issuer: commonName, signer: root.privateKey };
  const ca = await toCertificate({
    subject: commonName,
    publicKey: root.publicKey,
    ...sign,
    extensions: CA_EXTENSIONS,
  });
  return {
    caCert: toPem("CERTIFICATE", ca),
    async issue(subject) {
      const leaf = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
      const extensions = LEAF_EXTENSIONS;
      const cert = await toCertificate({ subject, publicKey: leaf.publicKey, ...sign, extensions });
      const key = new Uint8Array(await crypto.subtle.exportKey("pkcs8", leaf.privateKey));
      return { cert: toPem("CERTIFICATE", cert), key: toPem("PRIVATE KEY", key) };
    },
  };
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" };

interface CertificateFields {
  readonly subject: string;
  readonly publicKey: CryptoKey;
  readonly issuer: string;
  readonly signer: CryptoKey;
  readonly extensions: Uint8Array;
}

async function toCertificate(
  { subject, publicKey, issuer, signer, extensions }: CertificateFields,
): Promise<Uint8Array> {
  const serial = crypto.getRandomValues(new Uint8Array(16));
  const body = sequence(
    tagged(0xa0, integer(new Uint8Array([2]))),
    integer(serial),
    SIGNED_BY,
    toName(issuer),
    // For as long as two digits of a year reach: no clock is asked, and none has to be right.
    sequence(tagged(0x17, text("200101000000Z")), tagged(0x17, text("491231235959Z"))),
    toName(subject),
    new Uint8Array(await crypto.subtle.exportKey("spki", publicKey)),
    tagged(0xa3, extensions),
  );
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, signer, body);
  return sequence(body, SIGNED_BY, bits(toDerSignature(new Uint8Array(signature))));
}

function toName(commonName: string): Uint8Array {
  return sequence(tagged(0x31, sequence(oid("550403"), tagged(0x0c, text(commonName)))));
}

/** WebCrypto gives the two numbers one after the other. */
function toDerSignature(raw: Uint8Array): Uint8Array {
  return sequence(integer(raw.subarray(0, 32)), integer(raw.subarray(32)));
}

/** Big-endian, positive. */
function integer(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(start < 0 ? bytes.length - 1 : start);
  return tagged(0x02, (digits[0] ?? 0) > 0x7f ? concat([new Uint8Array([0]), digits]) : digits);
}

function extension(id: string, isCritical: boolean, value: Uint8Array): Uint8Array {
  const critical = isCritical ? [tagged(0x01, new Uint8Array([0xff]))] : [];
  return sequence(oid(id), ...critical, tagged(0x04, value));
}

function bits(bytes: Uint8Array, unused = 0): Uint8Array {
  return tagged(0x03, concat([new Uint8Array([unused]), bytes]));
}

function sequence(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return tagged(0x30, concat(parts));
}

/** By its encoded bytes, in hexadecimal. */
function oid(hex: string): Uint8Array {
  return tagged(0x06, Uint8Array.fromHex(hex));
}

function tagged(tag: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return concat([new Uint8Array([tag, ...size]), content]);
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

function toPem(label: string, der: Uint8Array): string {
  const lines = der.toBase64().match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/** ecdsa-with-SHA256 */
const SIGNED_BY = sequence(oid("2a8648ce3d040302"));
const TRUE = tagged(0x01, new Uint8Array([0xff]));
const [BASIC_CONSTRAINTS, KEY_USAGE, ALTERNATIVE_NAME, EXTENDED_USAGE] = [
  "551d13",
  "551d0f",
  "551d11",
  "551d25",
] as const;
const CA_EXTENSIONS = sequence(
  extension(BASIC_CONSTRAINTS, true, sequence(TRUE)),
  // keyCertSign
  extension(KEY_USAGE, true, bits(new Uint8Array([0x04]), 2)),
);
const LEAF_EXTENSIONS = sequence(
  extension(BASIC_CONSTRAINTS, true, sequence()),
  // digitalSignature, for serverAuth
  extension(KEY_USAGE, true, bits(new Uint8Array([0x80]), 7)),
  extension(EXTENDED_USAGE, false, sequence(oid("2b06010505070301"))),
  extension(
    ALTERNATIVE_NAME,
    false,
    sequence(tagged(0x82, text("localhost")), tagged(0x87, new Uint8Array([127, 0, 0, 1]))),
  ),
);

/**
 * How does a test server get a certificate? From an authority that is made for it.
 * Root and leaf are two certificates, because a client refuses the certificate of an authority as that of a server.
 * https://www.rfc-editor.org/rfc/rfc5280
 */
// First: x509 needs what this adds to Reflect.
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

/** A root, and leaves that it signs. */
export interface Authority {
  /** The root's certificate in PEM. */
  readonly caCert: string;
  /** A new certificate and key for servers on localhost, in PEM. */
  readonly issue: (commonName: string) => Promise<{ readonly cert: string; readonly key: string }>;
}

/** Makes an authority of this name with a new private key, which stays inside. */
export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await createKeys();
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...VALIDITY,
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  return {
    caCert: root.toString("pem"),
    async issue(subject) {
      const own = await createKeys();
      const leaf = await x509.X509CertificateGenerator.create({
        ...VALIDITY,
        subject: [{ CN: [subject] }],
        issuer: root.subjectName,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
          new x509.SubjectAlternativeNameExtension([
            { type: "dns", value: "localhost" },
            { type: "ip", value: "127.0.0.1" },
            { type: "ip", value: "::1" },
          ]),
        ],
      });
      const key = await crypto.subtle.exportKey("pkcs8", own.privateKey);
      return { cert: leaf.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
    },
  };
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** The dates are fixed, so no clock has to be right. */
const VALIDITY = { notBefore: new Date(Date.UTC(2020, 0, 1)), notAfter: new Date(Date.UTC(2049, 11, 31)) };

async function createKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

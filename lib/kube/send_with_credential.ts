/** Sends with the credential of the moment, and after a 401 once more if there is a newer one. */
import { type Answer, discard } from "./body.ts";
import { type Credential, isSameCredential, type ReadCredential } from "./config/credential.ts";

/** An answer to whoever has sent a credential. */
export interface CredentialAnswer extends Answer {
  readonly status: number;
}

/** Rejects with what either function rejects with; no answer's body is left open then. */
export async function sendWithCredential<T extends CredentialAnswer>(
  read: ReadCredential,
  send: (credential: Credential) => Promise<T>,
): Promise<T> {
  const credential = await read(null);
  const answer = await send(credential);
  if (answer.status !== 401) return answer;
  let newer: Credential;
  try {
    newer = await read(credential);
  } catch (error) {
    await discard(answer);
    throw error;
  }
  if (isSameCredential(newer, credential)) return answer;
  await discard(answer);
  return await send(newer);
}

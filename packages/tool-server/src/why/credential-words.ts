import type { CredentialKind } from "../connection-info.js";

const words: Readonly<Record<CredentialKind, string>> = {
  none: "a request without a credential",
  headers: "the headers of the entry",
  helper: "the headers of the helper",
  environment: "the variables of the process",
  oauth: "the sign-in",
};

/** What a request carried, as it stands in a sentence. */
export function credentialWords(kind: CredentialKind): string {
  return words[kind];
}

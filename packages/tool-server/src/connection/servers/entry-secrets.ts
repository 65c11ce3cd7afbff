import type { Entry } from "../../config/entry.js";
import { collectFindings } from "../../config/finding.js";
import { judgeSecrets } from "../../config/judge-secrets.js";
import type { SecretRegistry } from "../../secrets/redactor.js";

/** A shorter value, such as "test", is an ordinary word too often. */
const minLength = 8;

/** A scope for the text about one server: what its entry holds literally, and what the server makes known later. */
export function createServerSecrets(entry: Entry, secrets: SecretRegistry): SecretRegistry {
  const scope = secrets.scope();
  for (const value of judgeSecrets(entry, collectFindings().report)) if (value.length >= minLength) scope.add(value);
  return scope;
}

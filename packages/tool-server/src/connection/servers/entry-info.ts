import type { HelperRunReport } from "../../auth/credentials/helper-credential.js";
import { checkSecrets } from "../../config/check-secrets.js";
import type { Entry } from "../../config/entry.js";
import { type ResolvedEntry, referenceValue, type Variables } from "../../config/substitute-entry.js";
import type { ConnectionInfo } from "../../connection-info.js";
import type { Reporter } from "../../diagnostics.js";
import { describeDuration } from "../../duration.js";
import { printableText } from "../../printable-text.js";
import type { SecretRegistry } from "../../secrets/redactor.js";

const maxTarget = 300;

/** The target of a connection for people: the URL, or `stdio:` and the command with its arguments. Redacted and escaped. */
export function targetOf(entry: ResolvedEntry, redact: (text: string) => string): string {
  if (entry.type !== "stdio") return printableText(redact(entry.url), maxTarget);
  return printableText(redact(`stdio:${[entry.command, ...entry.args].join(" ")}`), maxTarget);
}

/**
 * The values that select a tenant, by variable name. They are part of the key of stored tokens, so they must be the values that are
 * sent: the default if the variable is unset or empty.
 */
export function tenantOf(entry: Entry, variables: Variables): Readonly<Record<string, string>> {
  if (entry.type === "stdio") return {};
  const tenant = new Map<string, string>();
  for (const { variable, fallback, field } of entry.tenants) {
    const value = referenceValue({ name: variable, fallback }, variables);
    if (value === undefined) continue;
    // A variable can have another default in each field. A name with a space is no variable.
    const isOther = (tenant.get(variable) ?? value) !== value;
    tenant.set(isOther ? `${variable} in ${field}` : variable, value);
  }
  return Object.fromEntries(tenant);
}

/** Creates a scope for text about one server: literal secrets of its entry, and those learned from the server later. */
export function createServerSecrets(entry: Entry, secrets: SecretRegistry): SecretRegistry {
  const scope = secrets.scope();
  for (const value of checkSecrets(entry, () => {})) scope.add(value);
  return scope;
}

const starts = {
  first: (what: string, where: string) => `Ran the ${what}${where} to obtain headers`,
  renewal: (what: string, where: string) => `Ran the ${what}${where} to replace headers that expire`,
  refusal: (what: string, where: string) => `Ran the ${what} again${where} because the server rejected its headers`,
} as const satisfies Record<HelperRunReport["cause"], (what: string, where: string) => string>;

/** Reports a run of a helper in the trace of its connection: the cause, the exit code and the duration. */
export function reportHelperRun(report: Reporter, info: ConnectionInfo, run: HelperRunReport): void {
  const { cause, code, durationMs, error, expiresAt, isSandboxed, outcome } = run;
  const start = starts[cause](run.program, isSandboxed ? " in the sandbox" : "");
  const end = `${code === undefined ? outcome : `exit code ${code}`} after ${describeDuration(Math.round(durationMs))}`;
  if (error !== undefined) {
    report(info, "error", `${start}: ${end}. ${error.message}`);
    return;
  }
  const until = expiresAt === undefined ? "" : `; the headers are used until ${new Date(expiresAt).toISOString()}`;
  report(info, "info", `${start}: ${end}${until}.`);
}

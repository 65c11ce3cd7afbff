import { ToolServerError, type ToolServerErrorCode } from "../../errors.js";
import { type JsonObject, stringOf } from "../../json-object.js";
import { type OAuthContext, vaultKeyOf } from "./oauth-context.js";
import type { OAuthOperation } from "./oauth-log.js";

/** The last failure of a login, of any process: kept until a sign-in or a renewal succeeds, and until a sign-out. Contains no secret. */
export interface LastFailure {
  readonly operation: OAuthOperation;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly error: ToolServerError;
}

export interface FailureStore {
  /** Undefined if there is none, or the vault cannot be read: other operations report that. */
  read(): Promise<LastFailure | undefined>;
  /** Does not reject. */
  keep(operation: OAuthOperation, error: unknown): Promise<void>;
  /** Does not reject. */
  clear(): Promise<void>;
}

/** Failures that say nothing about the login. */
const ignored: readonly ToolServerErrorCode[] = [
  "CREDENTIAL_CLOSED",
  "VAULT_LOCKED",
  "VAULT_UNREADABLE",
  "VAULT_KEY_WRONG",
  "KEYCHAIN_UNAVAILABLE",
];

export function createFailureStore(context: OAuthContext): FailureStore {
  const { vault, clock, secrets } = context;
  const key = vaultKeyOf(context, "", "failure");
  const ignore = (): undefined => undefined;
  return {
    read: () => vault.get(key).then((entry) => entry && failureOf(entry.value), ignore),
    async keep(operation, error) {
      if (!ToolServerError.is(error) || ignored.includes(error.code)) return;
      const { code, subject, problem, advice, details } = error;
      const { said, issuer, status } = details;
      const texts = { subject, problem, advice, ...(said && { said }), ...(issuer && { issuer }) };
      const shown = Object.entries(texts).map(([name, text]) => [name, secrets.redact(text)]);
      const value = { operation, at: clock.now(), code, ...Object.fromEntries(shown), ...(status && { status }) };
      await vault.withLock(key, (entry) => entry.write(value)).catch(ignore);
    },
    async clear() {
      if ((await vault.get(key).catch(ignore)) === undefined) return;
      await vault.withLock(key, (entry) => entry.remove()).catch(ignore);
    },
  };
}

/** The operations whose failures are kept; another version may keep others. */
const operations: readonly OAuthOperation[] = ["sign-in", "refresh", "step-up"];

function failureOf(json: JsonObject): LastFailure | undefined {
  const { at, status } = json;
  const operation = operations.find((each) => each === json.operation);
  const [code, problem] = [stringOf(json.code), stringOf(json.problem)];
  if (operation === undefined || code === undefined || problem === undefined || typeof at !== "number")
    return undefined;
  const parts = { subject: stringOf(json.subject) ?? "", problem, advice: stringOf(json.advice) ?? "" };
  const details = {
    said: stringOf(json.said),
    issuer: stringOf(json.issuer),
    status: typeof status === "number" ? status : undefined,
  };
  return { operation, at, error: new ToolServerError(code as ToolServerErrorCode, parts, { details }) };
}

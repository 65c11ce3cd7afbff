import { timestampMs } from "@bufbuild/protobuf/wkt";
import { AuthMethod, ConnectivityState, type Server } from "@wirescope/gateway/admin";
import { authText, statusText } from "@wirescope/gateway/internal/status-text";
import type { Tone } from "../../design/index.js";

/** Failures that the user resolves by signing in. */
const signInCodes: ReadonlySet<string> = new Set([
  "SIGN_IN_NEEDED",
  "SIGN_IN_FAILED",
  "TOKEN_REFUSED",
  "ISSUER_CHANGED",
  "AUTHORIZATION_ORIGIN_UNCONFIRMED",
]);

/** Failures of the entry in the configuration. */
const entryCodes: ReadonlySet<string> = new Set(["ENTRY_INVALID", "VARIABLE_UNUSABLE"]);

/** The first thing that the user should do about a server. */
export type Remedy = "sign in" | "approve" | "check" | "explain";

/** The state of a server: as a colour, in two or three words, and the reason. */
export interface ServerState {
  readonly tone: Tone;
  readonly word: string;
  /** In one or a few sentences; undefined if nothing needs attention. */
  readonly reason: string | undefined;
  /** Undefined if nothing has to be done. */
  readonly remedy: Remedy | undefined;
}

/** The maximum length of a problem, and of the advice about it, in characters; Explain shows the rest. */
const maxCharacters = 240;

/** Indexed by the state's number in Channelz. */
const stateNames = ["UNKNOWN", "IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"];

export function serverState({ state, failure, toolChanges }: Server): ServerState {
  const name = stateNames[state] ?? "UNKNOWN";
  const details = { unsetVariables: failure?.unsetVariables ?? [] };
  const word = statusText(name, failure && { code: failure.code, details });
  if (failure === undefined) {
    const tones: Partial<Record<ConnectivityState, Tone>> = {
      [ConnectivityState.READY]: "ready",
      [ConnectivityState.CONNECTING]: "connecting",
    };
    const tools = new Set(toolChanges.map(({ tool }) => tool)).size;
    const reason = `${tools === 1 ? "A tool has" : `${tools} tools have`} changed since the approval.`;
    const review = tools === 0 ? { reason: undefined, remedy: undefined } : { reason, remedy: "approve" as const };
    return { tone: tones[state] ?? "idle", word, ...review };
  }
  const remedy = remedyOf(failure.code);
  const isForUser = remedy === "approve" || failure.code === "SIGN_IN_NEEDED";
  const tone = state === ConnectivityState.CONNECTING ? "connecting" : isForUser ? "waiting" : "failing";
  return { tone, word, reason: reasonOf(failure), remedy };
}

function remedyOf(code: string): Remedy {
  if (code === "NOT_TRUSTED") return "approve";
  if (signInCodes.has(code)) return "sign in";
  return entryCodes.has(code) ? "check" : "explain";
}

/** The problem and, unlike in the to-do list of `wirescope up`, always what to do about it. */
function reasonOf({ code, message, problem, advice }: NonNullable<Server["failure"]>): string {
  if (code === "NOT_TRUSTED") return "pending approval";
  if (code === "SIGN_IN_NEEDED") return "sign-in required";
  // The message contains the advice.
  return problem === "" ? shorten(message) : `${shorten(problem)} ${shorten(advice)}`.trim();
}

function shorten(text: string): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
}

/** How a server authenticates, as `wirescope status` prints it. */
export function authenticationText({ state, failure, authentication }: Server): string {
  const { summary, oauth } = authentication ?? {};
  const text = authText({ state: stateNames[state] ?? "UNKNOWN", failure }, summary, oauth?.signedIn);
  return text === "-" ? "–" : text;
}

/** When a server's token expires for good, in milliseconds since 1970; undefined if it can be refreshed or has no known expiry. */
export function finalExpiryMs({ authentication }: Server): number | undefined {
  const { oauth } = authentication ?? {};
  if (oauth?.signedIn !== true || oauth.renewable || oauth.expireTime === undefined) return undefined;
  return timestampMs(oauth.expireTime);
}

/** Whether the user can sign in to the server, or out of it. */
export function usesOAuth({ authentication }: Server): boolean {
  return authentication?.method === AuthMethod.OAUTH;
}

/** The command that diagnoses a server of the running gateway. */
export function whyCommand(name: string): string {
  return `wirescope why ${shellWord(name)} --endpoint`;
}

/** The command that checks the configuration that a server is from. */
export function checkCommand({ configuration }: Server): string {
  return configuration === "" ? "wirescope check" : `wirescope check ${shellWord(configuration)}`;
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

import { printableText } from "../../printable-text.js";
import type { SecretRegistry } from "../../secrets/redactor.js";

/** The steps that are told of. */
export type OAuthEventKind =
  /** The authorization server of the tool server was found. */
  | "discovered"
  /** A document or a server was passed over in a discovery. */
  | "discovery-skipped"
  /** The tool server names another authorization server than before. */
  | "issuer-changed"
  | "client-registered"
  /** A registration is dead and no longer used. */
  | "client-dropped"
  /** Another process lets a person sign in to the same server. */
  | "sign-in-waiting"
  | "sign-in-started"
  | "sign-in-done"
  | "sign-in-failed"
  /** A callback came that does not belong to the sign-in. */
  | "callback-refused"
  | "refresh-started"
  | "refreshed"
  | "refresh-failed"
  /** Another process had refreshed the token already. */
  | "token-adopted"
  /** Tokens are dead and no longer used. */
  | "tokens-dropped"
  | "signed-out";

/** One step of OAuth, for traces and for debugging. Holds no secret. */
export interface OAuthEvent {
  readonly kind: OAuthEventKind;
  readonly severity: "info" | "warning" | "error";
  /** For people; redacted. */
  readonly text: string;
}

const longestText = 1000;

/** Tells of a step, with secrets taken out. */
export function tellEvent(
  { secrets, onEvent }: { readonly secrets: Pick<SecretRegistry, "redact">; onEvent(event: OAuthEvent): void },
  kind: OAuthEventKind,
  text: string,
  severity: OAuthEvent["severity"] = "info",
): void {
  onEvent({ kind, severity, text: printableText(secrets.redact(text), longestText) });
}

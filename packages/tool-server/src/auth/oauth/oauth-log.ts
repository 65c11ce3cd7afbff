import type { Clock } from "../../clock.js";
import {
  type CredentialOperationCause,
  type CredentialOutcome,
  outcomeOf,
  type TrackOperation,
  untracked,
} from "../../diagnostics.js";
import { messageOf } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { type OAuthStep, requestStep, type StepMessage } from "./oauth-step.js";

/** What OAuth does for one login that takes time. */
export type OAuthOperation = "discovery" | "registration" | "sign-in" | "refresh" | "step-up";

/** One fact about a login. Contains no secret. */
export type OAuthEvent = {
  readonly severity: "info" | "warning" | "error";
  /** For people; redacted. Empty if another event says the same. */
  readonly text: string;
} & (
  | { readonly kind: "started"; readonly operation: OAuthOperation }
  | ({ readonly kind: "ended"; readonly operation: OAuthOperation } & CredentialOutcome)
  /** A request with its response, also one of the user's browser, or one that was only planned. */
  | { readonly kind: "request"; readonly step: OAuthStep }
  | { readonly kind: OAuthNote }
);

/** The facts that are not an operation or a request. */
export type OAuthNote =
  /** The authorization server of the tool server was found. */
  | "discovered"
  /** The tool server names another authorization server than before. */
  | "issuer-changed"
  /** A client was registered, or is no longer used. */
  | "client"
  /** A user is asked to sign in. */
  | "asking"
  /** Another process asks a user to sign in. */
  | "waiting"
  /** A redirect that does not belong to the sign-in. */
  | "callback-rejected"
  | "renewal-retry"
  /** Tokens are no longer accepted, and no longer used. */
  | "tokens-dropped"
  | "signed-out";

/** How an operation ended, and what to say about it. */
export interface OAuthEnding extends CredentialOutcome {
  readonly text?: string;
}

/** Sets how an operation ended. */
export type SetEnding = (ending: OAuthEnding) => void;

/** Reports what OAuth does for one login. */
export interface OAuthLog {
  /**
   * Runs an operation, and reports its start and end. A task that resolves is done, and one that rejects has failed or was cancelled;
   * `setEnding` reports another outcome.
   */
  run<T>(
    operation: OAuthOperation,
    cause: CredentialOperationCause | undefined,
    task: (setEnding: SetEnding) => Promise<T>,
  ): Promise<T>;
  /** Sends a request, and reports it with its response or failure. */
  request<Response extends NonNullable<StepMessage["response"]>>(
    message: Pick<StepMessage, "name" | "request" | "expects">,
    send: () => Promise<Response>,
  ): Promise<Response>;
  /** Reports a step that `request` does not send: a browser does, or nobody. */
  step(create: () => OAuthStep): void;
  note(kind: OAuthNote, text: string, severity?: OAuthEvent["severity"]): void;
  /** The listener must not throw. With `withRequests`, it gets requests too. Returns a function that stops. */
  subscribe(listener: (event: OAuthEvent) => void, withRequests?: boolean): () => void;
}

const maxTextLength = 1000;
const starts: Partial<Record<OAuthOperation, string>> = { refresh: "Renewing the token." };
const failures: Partial<Record<OAuthOperation, string>> = { "sign-in": "The sign-in failed: ", refresh: "" };

export interface OAuthLogOptions {
  readonly secrets: Pick<SecretRegistry, "redact">;
  readonly clock: Clock;
  /** Publishes operations to the observers of the process. Default: nothing is published. */
  readonly track?: TrackOperation | undefined;
}

export function createOAuthLog({ secrets, clock, track = untracked }: OAuthLogOptions): OAuthLog {
  const listeners = new Map<object, { readonly listener: (event: OAuthEvent) => void; readonly isAll: boolean }>();
  const report = (event: OAuthEvent): void => {
    const shown = { ...event, text: printableText(secrets.redact(event.text), maxTextLength) };
    for (const { listener, isAll } of [...listeners.values()]) if (isAll || event.kind !== "request") listener(shown);
  };
  const reportStep = (step: OAuthStep): void => report({ kind: "request", step, severity: "info", text: "" });
  const hasRequestListener = (): boolean => [...listeners.values()].some(({ isAll }) => isAll);

  return {
    run: (operation, cause, task) =>
      track(operation, cause, async (setOutcome) => {
        let ending: OAuthEnding = { outcome: "done" };
        report({ kind: "started", operation, severity: "info", text: starts[operation] ?? "" });
        try {
          return await task((given) => {
            ending = given;
            setOutcome(given);
          });
        } catch (error) {
          const intro = failures[operation];
          ending = { ...outcomeOf(error), text: intro === undefined ? "" : `${intro}${messageOf(error)}` };
          throw error;
        } finally {
          const severity = ending.outcome === "failed" ? "warning" : "info";
          report({ text: "", ...ending, kind: "ended", operation, severity });
        }
      }),
    async request(message, send) {
      if (!hasRequestListener()) return send();
      const start = clock.now();
      const end = (result: Pick<StepMessage, "response" | "failure">): void =>
        reportStep(requestStep(secrets, { ...message, ...result, durationMs: clock.now() - start }));
      try {
        const response = await send();
        end({ response });
        return response;
      } catch (failure) {
        end({ failure });
        throw failure;
      }
    },
    step(create) {
      if (hasRequestListener()) reportStep(create());
    },
    note: (kind, text, severity = "info") => report({ kind, severity, text }),
    subscribe(listener, withRequests = false) {
      const key = {};
      listeners.set(key, { listener, isAll: withRequests });
      return () => void listeners.delete(key);
    },
  };
}

import { randomUUID } from "node:crypto";
import { ToolServerError } from "@wirescope/tool-server";
import type {
  OAuthSession,
  OAuthStep,
  SignIn,
  SignInOptions,
  SignInReply,
  SignInRequest,
} from "@wirescope/tool-server/auth";
import type { GatewayEvents } from "../events.js";

/** What the user is shown, with the id of the sign-in. */
export interface ShownSignIn {
  readonly id: string;
  readonly request: SignInRequest;
}

/** Without a reason, the user requested it, so they sign in even if another process has a new token by now. */
export interface SignInRun extends Pick<SignInOptions, "way" | "scopes" | "reason"> {
  /** The authorization server that the user confirmed, if it differs from the previous one. Default: none. */
  readonly confirmedIssuer?: string | undefined;
  /** The origin that the user confirmed, if it is not that of the authorization server. Default: none. */
  readonly confirmedOrigin?: string | undefined;
  /** The page on which the user started it, for a link on the last page of the sign-in. Default: none. */
  readonly returnTo?: string | undefined;
  readonly signal: AbortSignal;
  /** The user has to act. Called again for each run that joins. */
  onShown(shown: ShownSignIn): void;
  /** Another process is signing in: there is nothing to show. */
  onWaiting?(): void;
  /** A sentence that the user should know. */
  onNotice?(text: string): void;
  /** A step of the OAuth flow has ended. */
  onStep?(step: OAuthStep): void;
}

/** The sign-ins to servers, for the administration and for calls. */
export interface SignIns {
  /** Signs in, or joins a sign-in in progress. Rejects as `OAuthSession.signIn` does, and with the reason of the signal. */
  run(server: string, session: OAuthSession, run: SignInRun): Promise<void>;
  /** Completes a sign-in with the URL that the browser was redirected to; false if there is no such sign-in. */
  complete(id: string, address: string): boolean;
  isInProgress(server: string): boolean;
  /** The failure of the last sign-in to a server; undefined if it succeeded. */
  lastFailure(server: string): ToolServerError | undefined;
}

interface Progress {
  readonly runs: Set<SignInRun>;
  shown: ShownSignIn | undefined;
}

export function createSignIns(events: Pick<GatewayEvents, "emit">): SignIns {
  const inProgress = new Map<string, Progress>();
  const replies = new Map<string, (reply: SignInReply) => void>();
  const failures = new Map<string, ToolServerError>();

  const userOf = (server: string, { confirmedIssuer, confirmedOrigin, returnTo }: SignInRun): SignIn => ({
    returnTo,
    begin(request, signal) {
      const shown = { id: randomUUID(), request };
      // Looked up now, because runs may have left or joined since.
      const current = inProgress.get(server);
      if (current !== undefined) current.shown = shown;
      for (const run of current?.runs ?? []) run.onShown(shown);
      if (request.way.kind === "device") return Promise.resolve(undefined);
      return new Promise((resolve, reject) => {
        replies.set(shown.id, resolve);
        const onAbort = (): void => {
          replies.delete(shown.id);
          reject(signal.reason);
        };
        if (signal.aborted) onAbort();
        else signal.addEventListener("abort", onAbort, { once: true });
      });
    },
    notify(text) {
      for (const run of inProgress.get(server)?.runs ?? []) run.onNotice?.(text);
    },
    // Without confirmation it fails, and the failure says what to confirm.
    confirmIssuer: async ({ to }) => to === confirmedIssuer,
    confirmOrigin: async ({ origin }) => origin === confirmedOrigin,
  });

  const join = async (server: string, current: Progress, session: OAuthSession, run: SignInRun): Promise<void> => {
    const { way, scopes, reason, signal } = run;
    if (session.isSigningIn) {
      if (current.shown !== undefined) run.onShown(current.shown);
      else if (current.runs.size === 1) run.onWaiting?.();
    }
    const refused = reason === undefined ? undefined : (session.cachedToken() ?? undefined);
    await session.obtainToken(userOf(server, run), { way, scopes, reason, refused }, signal);
  };

  return {
    async run(server, session, run) {
      const current = inProgress.get(server) ?? { runs: new Set(), shown: undefined };
      inProgress.set(server, current);
      current.runs.add(run);
      const { onStep } = run;
      const { log } = session.context;
      const stop = onStep && log.subscribe((event) => event.kind === "request" && onStep(event.step), true);
      events.emit({ kind: "sign-in-changed", server });
      try {
        await join(server, current, session, run);
        failures.delete(server);
      } catch (error) {
        if (ToolServerError.is(error)) failures.set(server, error);
        throw error;
      } finally {
        stop?.();
        current.runs.delete(run);
        if (current.runs.size === 0 && inProgress.get(server) === current) inProgress.delete(server);
        events.emit({ kind: "sign-in-changed", server });
      }
    },
    complete(id, address) {
      const reply = replies.get(id);
      replies.delete(id);
      reply?.({ pasted: address });
      return reply !== undefined;
    },
    isInProgress: (server) => inProgress.has(server),
    lastFailure: (server) => failures.get(server),
  };
}

import { randomUUID } from "node:crypto";
import { ToolServerError } from "@wirescope/tool-server";
import type { OAuthSession, SignIn, SignInReason, SignInReply, SignInRequest } from "@wirescope/tool-server/auth";
import { parseResourceChallenge } from "@wirescope/tool-server/internal";

/** What a person is shown, and the name of the sign-in that it belongs to. */
export interface ShownSignIn {
  readonly id: string;
  readonly request: SignInRequest;
}

export interface SignInRun {
  readonly way: "browser" | "device" | undefined;
  readonly scopes: readonly string[];
  /** Default: a person asked for it, so they sign in even if another process has a new token by now. */
  readonly reason?: SignInReason | undefined;
  /** The authorization server that the person agreed to, should it be another than before. */
  readonly confirmedIssuer: string;
  /** The origin that the person agreed to sign in at, if it is not that of the authorization server. */
  readonly confirmedOrigin: string;
  readonly signal: AbortSignal;
  /** A person has to do something. Called again for each who joins. */
  onShown(shown: ShownSignIn): void;
  /** A sign-in is under way of which nothing can be shown. */
  onWaiting(): void;
}

/** The sign-ins to the servers of a gateway, for its administration and for calls. */
export interface SignIns {
  /** Lets a person sign in, or joins them who do. Rejects as `OAuthSession.signIn` does, and with the reason of the signal. */
  run(server: string, session: OAuthSession, run: SignInRun): Promise<void>;
  /** Hands over the address that a browser ended at; false where no such sign-in is under way. */
  complete(id: string, address: string): boolean;
  isUnderWay(server: string): boolean;
  /** The failure of the last sign-in to a server; undefined where it went well. */
  lastFailure(server: string): ToolServerError | undefined;
}

interface UnderWay {
  readonly runs: Set<SignInRun>;
  shown: ShownSignIn | undefined;
}

/** `onChanged` is called when a sign-in begins and when it has ended. */
export function createSignIns(onChanged: () => void): SignIns {
  const underWay = new Map<string, UnderWay>();
  const answers = new Map<string, (reply: SignInReply) => void>();
  const failures = new Map<string, ToolServerError>();

  const person = (server: string, { confirmedIssuer, confirmedOrigin }: SignInRun): SignIn => ({
    begin(request, signal) {
      const shown = { id: randomUUID(), request };
      // Looked up now: those who asked first may have left, and others come since.
      const current = underWay.get(server);
      if (current !== undefined) current.shown = shown;
      for (const run of current?.runs ?? []) run.onShown(shown);
      if (request.way.kind === "device") return Promise.resolve(undefined);
      return new Promise((resolve, reject) => {
        answers.set(shown.id, resolve);
        const onOver = (): void => {
          answers.delete(shown.id);
          reject(signal.reason);
        };
        if (signal.aborted) onOver();
        else signal.addEventListener("abort", onOver, { once: true });
      });
    },
    // What nobody confirmed fails, and the failure says what to confirm.
    confirmIssuer: async ({ to }) => to === confirmedIssuer,
    confirmOrigin: async ({ origin }) => origin === confirmedOrigin,
  });

  const join = async (server: string, current: UnderWay, session: OAuthSession, run: SignInRun): Promise<void> => {
    const { way, scopes, reason, signal } = run;
    if (session.isMachine) {
      const challenge = parseResourceChallenge(undefined);
      await (await session.tokens({ isFresh: true, challenge, signal }))?.replace(undefined, signal);
    } else {
      if (session.isSigningIn) {
        if (current.shown !== undefined) run.onShown(current.shown);
        else if (current.runs.size === 1) run.onWaiting();
      }
      const refused = reason === undefined ? undefined : (session.cachedToken() ?? undefined);
      await session.signIn(person(server, run), { way, scopes, reason, refused }, signal);
    }
  };

  return {
    async run(server, session, run) {
      const current = underWay.get(server) ?? { runs: new Set(), shown: undefined };
      underWay.set(server, current);
      current.runs.add(run);
      onChanged();
      try {
        await join(server, current, session, run);
        failures.delete(server);
      } catch (error) {
        if (ToolServerError.is(error)) failures.set(server, error);
        throw error;
      } finally {
        current.runs.delete(run);
        if (current.runs.size === 0 && underWay.get(server) === current) underWay.delete(server);
        onChanged();
      }
    },
    complete(id, address) {
      const answer = answers.get(id);
      answers.delete(id);
      answer?.({ pasted: address });
      return answer !== undefined;
    },
    isUnderWay: (server) => underWay.has(server),
    lastFailure: (server) => failures.get(server),
  };
}

import { messageOf, ToolServerError } from "../../../errors.js";
import { createSingleFlight } from "../../../single-flight.js";
import type { HeldToken } from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import type { Ask, SignInPrompt } from "./ask.js";
import type { SignInOptions } from "./sign-in.js";

/** The sign-in of a login: everybody who needs it joins the one that runs. */
export interface SignInRun {
  readonly isRunning: boolean;
  /**
   * Joins the run, or starts one with these options. What has to be shown is shown to each participant. One who declines leaves it; it ends
   * with the last. Rejects as `signIn` does, and with the signal's reason.
   */
  join(ask: Ask, options: SignInOptions, signal?: AbortSignal): Promise<HeldToken>;
  /** Aborts the run, and waits for its end. */
  close(reason: Error): Promise<void>;
}

/** An `Ask`, with which any number of callers joined. */
interface Participant {
  readonly left: AbortController;
  callers: number;
}

interface Prompt {
  readonly shown: SignInPrompt;
  readonly signal: AbortSignal;
  paste(address: string): void;
  decline(error: unknown): void;
}

interface Run {
  readonly options: SignInOptions;
  readonly participants: Map<Ask, Participant>;
  /** Aborts as soon as a user who asked for it takes part. */
  readonly asked: AbortController;
  prompt?: Prompt;
}

export function createSignInRun(
  context: OAuthContext,
  start: (ask: Ask, options: SignInOptions, signal: AbortSignal, asked: AbortSignal) => Promise<HeldToken>,
): SignInRun {
  const createRun = (options: SignInOptions): Run => ({
    options,
    participants: new Map(),
    asked: new AbortController(),
  });
  let run = createRun({});
  const flight = createSingleFlight(async (signal) => {
    const own = run;
    const stop = context.log.subscribe((event) => {
      for (const ask of own.participants.keys()) ask.onEvent?.(event);
    }, true);
    try {
      return await start(askEveryone(own), own.options, signal, own.asked.signal);
    } finally {
      stop();
    }
  });

  const askEveryone = (own: Run): Ask => ({
    redirector: [...own.participants.keys()].find(({ redirector }) => redirector !== undefined)?.redirector,
    show: (shown, signal) =>
      new Promise((paste, decline) => {
        own.prompt = { shown, signal, paste, decline };
        for (const [ask, { left }] of own.participants) void show(own, own.prompt, ask, left);
      }),
    async confirm(question, signal) {
      for (const [ask, { left }] of own.participants) {
        try {
          if (await ask.confirm?.(question, AbortSignal.any([signal, left.signal]))) return true;
        } catch (error) {
          if (!left.signal.aborted) throw error;
        }
      }
      return false;
    },
  });

  const show = async (own: Run, prompt: Prompt, ask: Ask, left: AbortController): Promise<void> => {
    const { shown, signal, paste, decline } = prompt;
    try {
      const pasted = await ask.show(shown, AbortSignal.any([signal, left.signal]));
      if (pasted !== undefined) paste(pasted);
    } catch (error) {
      if (signal.aborted || left.signal.aborted) return;
      const failure = declined(error);
      // The run fails with the reason of the last one.
      if (own.participants.size === 1) decline(failure);
      else left.abort(failure);
    }
  };

  const declined = (error: unknown): unknown => {
    if (ToolServerError.is(error) || error instanceof TypeError) return error;
    const problem = `the sign-in was cancelled: ${messageOf(error)}`;
    return oauthFailure(context, "SIGN_IN_FAILED", { problem, advice: "" }, { cause: error });
  };

  return {
    get isRunning() {
      return flight.isRunning;
    },
    async join(ask, options, signal) {
      signal?.throwIfAborted();
      // A run that all participants left is not joined: it would ask somebody who is gone.
      if (!flight.isRunning) run = createRun(options);
      const joined = run;
      if ((options.reason ?? "asked") === "asked") joined.asked.abort();
      const { participants, prompt } = joined;
      const found = participants.get(ask);
      const participant = found ?? { left: new AbortController(), callers: 0 };
      participants.set(ask, participant);
      participant.callers += 1;
      const { left } = participant;
      const joining = flight.join(signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]));
      if (found === undefined && prompt?.signal.aborted === false) void show(joined, prompt, ask, left);
      try {
        return await joining;
      } finally {
        participant.callers -= 1;
        if (participant.callers === 0) {
          participants.delete(ask);
          left.abort(new DOMException("The sign-in has ended.", "AbortError"));
        }
      }
    },
    close: (reason) => flight.close(reason),
  };
}

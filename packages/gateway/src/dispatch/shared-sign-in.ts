import { randomUUID } from "node:crypto";
import { printableText } from "@wirescope/channelz/internal";
import { ToolServerError } from "@wirescope/tool-server";
import type { Ask, SignInPrompt } from "@wirescope/tool-server/auth";
import type { ClientCall } from "../client-call.js";
import { supportsRequest } from "../servers/server-requests.js";

/** One sign-in to a server, for any number of waiting calls. */
export interface SharedSignIn {
  /**
   * Resolves when the sign-in succeeds. Rejects with its failure, with `cannotBeShown`, or when the call is cancelled. A user who has the
   * page open may still finish after that; the next call then succeeds.
   */
  join(call: ClientCall): Promise<void>;
  /** Whether calls can no longer join it. */
  readonly isOver: boolean;
  cancel(reason: Error): void;
}

export interface SharedSignInOptions {
  readonly server: string;
  /** Runs the sign-in. Resolves when the server can be called. */
  readonly run: (ask: Ask, signal: AbortSignal) => Promise<void>;
  readonly openBrowser: ((url: string) => Promise<boolean>) | undefined;
  /** Whether enough time has passed to show the page again. */
  readonly mayShow: () => boolean;
  /** The page is shown: by a browser, or by the client of this call. */
  readonly onShown: (way: "browser" | "client", request: SignInPrompt, call: ClientCall) => void;
  /** A URL elicitation that was sent to a client is completed. */
  readonly onCompleted: (elicitationId: string) => void;
}

/** The failure of a call if no client or browser can show the page. */
export const cannotBeShown: Error = new Error("The sign-in page cannot be shown.");

interface Waiter {
  readonly call: ClientCall;
  /** Ends the wait of the call with a failure. */
  fail(error: Error): void;
}

/** Whether the client supports URL elicitation. */
export function showsPages({ capabilities }: Pick<ClientCall, "capabilities">): boolean {
  return supportsRequest(capabilities, "elicitation/create", { mode: "url" });
}

export function beginSharedSignIn(options: SharedSignInOptions): SharedSignIn {
  const { server, openBrowser } = options;
  const stop = new AbortController();
  const over = new AbortController();
  const waiters = new Set<Waiter>();
  const elicitations: string[] = [];
  let request: SignInPrompt | undefined;
  /** Whether the user has the page open, so that waiting makes sense. */
  let isShown = false;
  let isShowing = false;

  /** Asks the user, through the client, to open the page. Resolves with whether the user accepts; undefined if the client fails. */
  const askClient = async ({ call }: Waiter, shown: SignInPrompt): Promise<boolean | undefined> => {
    const elicitationId = randomUUID();
    elicitations.push(elicitationId);
    options.onShown("client", shown, call);
    const params = { mode: "url", elicitationId, url: urlOf(shown), message: messageOf(shown) };
    const response = await call.ask("elicitation/create", params, over.signal).catch(() => undefined);
    return response === undefined ? undefined : response.action === "accept";
  };

  const show = async (waiter: Waiter | undefined): Promise<void> => {
    if (waiter === undefined || request === undefined || isShowing || stop.signal.aborted) return;
    isShowing = true;
    const isAccepted = showsPages(waiter.call) ? await askClient(waiter, request) : undefined;
    if (isAccepted === false) stop.abort(declined(server));
    else if (isAccepted) isShown = true;
    else if (waiters.has(waiter) && !over.signal.aborted) {
      if (await openBrowser?.(urlOf(request)).catch(() => false)) {
        isShown = true;
        options.onShown("browser", request, waiter.call);
      } else waiter.fail(cannotBeShown);
    }
    isShowing = false;
    // If the client disconnected without a response, the next one is asked.
    if (!isShown) void show(first());
  };
  const first = (): Waiter | undefined => [...waiters][0];

  const ask: Ask = {
    async show(prompt) {
      request = prompt;
      void show(first());
      return undefined;
    },
  };
  const done = options
    .run(ask, stop.signal)
    .finally(() => over.abort(new DOMException("The sign-in has ended.", "AbortError")));
  done.then(
    () => {
      for (const elicitationId of elicitations) options.onCompleted(elicitationId);
    },
    () => {},
  );

  return {
    join: (call) =>
      new Promise((resolve, reject) => {
        const leave = (): void => {
          waiters.delete(waiter);
          call.removeEventListener("abort", onCancel);
          if (waiters.size === 0 && !isShown)
            stop.abort(new DOMException("No call waits for the sign-in any more.", "AbortError"));
        };
        const waiter: Waiter = {
          call,
          fail(error) {
            leave();
            reject(error);
          },
        };
        const onCancel = (): void => waiter.fail(call.reason instanceof Error ? call.reason : cancelled(server));
        waiters.add(waiter);
        done.then(() => {
          leave();
          resolve();
        }, waiter.fail);
        const { progressToken } = call;
        if (progressToken !== undefined) {
          const message = `Waiting for you to sign in to ${server}.`;
          call.notify("notifications/progress", { progressToken, progress: 0, message });
        }
        if (call.aborted) onCancel();
        else call.addEventListener("abort", onCancel);
        // Shown again, because the user may have closed the page.
        if (isShown && options.mayShow() && waiters.has(waiter)) void show(waiter);
      }),
    get isOver() {
      return stop.signal.aborted || over.signal.aborted;
    },
    cancel: (reason) => stop.abort(reason),
  };
}

function urlOf({ way }: SignInPrompt): string {
  return way.kind === "device" ? (way.completeUrl ?? way.url) : way.url;
}

function messageOf({ server, issuer, scopes, way }: SignInPrompt): string {
  const code = way.kind === "device" ? ` Enter the code ${JSON.stringify(way.userCode)} there.` : "";
  // Each in quotes, because the server chooses them: without quotes they could read like our own sentence.
  const names = scopes.map((scope) => JSON.stringify(scope)).join(", ");
  const requested = names === "" ? "" : ` Requested scopes: ${names}.`;
  return printableText(`Sign in to ${JSON.stringify(server)} with ${issuer}.${code}${requested}`, 1000);
}

function declined(server: string): ToolServerError {
  const problem = `The sign-in to the server ${JSON.stringify(server)} was declined in the client.`;
  return new ToolServerError("SIGN_IN_FAILED", { problem, advice: "" });
}

function cancelled(server: string): ToolServerError {
  const problem = `The call was cancelled while it waited for the sign-in to the server ${JSON.stringify(server)}.`;
  return new ToolServerError("CALL_CANCELLED", { problem, advice: "" });
}

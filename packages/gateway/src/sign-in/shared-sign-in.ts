import { randomUUID } from "node:crypto";
import { printableText } from "@wirescope/channelz/internal";
import { ToolServerError } from "@wirescope/tool-server";
import type { SignInRequest } from "@wirescope/tool-server/auth";
import type { JsonObject } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { canAnswer } from "../servers/client-capability.js";

/** One sign-in to a server, which any number of calls wait for. */
export interface SharedSignIn {
  /**
   * Waits until it has succeeded. Rejects with why it failed, with `cannotBeShown`, or when the call is cancelled. A person who
   * has the page open may finish after that: the next call finds them signed in.
   */
  join(call: ClientCall): Promise<void>;
  /** Whether no call can join it any more. */
  readonly isOver: boolean;
  cancel(reason: Error): void;
}

export interface SharedSignInOptions {
  readonly server: string;
  /** Runs the sign-in. Calls `onShown` as soon as there is a page for a person. Resolves when the server can be called. */
  readonly run: (signal: AbortSignal, onShown: (request: SignInRequest) => void) => Promise<void>;
  readonly openBrowser: ((url: string) => Promise<boolean>) | undefined;
  /** Whether enough time has passed to show the page to a person again. */
  readonly mayShow: () => boolean;
  /** The page is shown to a person: by a browser, or by the client of this call. */
  readonly onShown: (way: "browser" | "client", request: SignInRequest, call: ClientCall) => void;
  /** Reports to clients of the older era that a visit to the page is over. */
  readonly onVisitCompleted: (elicitationId: string, params: JsonObject) => void;
}

/** That there is no way to show the page to the person behind a call. */
export const cannotBeShown: Error = new Error("The page of the sign-in cannot be shown.");

interface Waiter {
  readonly call: ClientCall;
  /** Lets the call fail, and wait no longer. */
  fail(error: Error): void;
}

/** Whether the client shows a page to its user when it is asked to. */
export function showsPages({ capabilities }: Pick<ClientCall, "capabilities">): boolean {
  return canAnswer(capabilities, "elicitation/create", { mode: "url" });
}

export function beginSharedSignIn(options: SharedSignInOptions): SharedSignIn {
  const { server, openBrowser } = options;
  const stop = new AbortController();
  const over = new AbortController();
  const waiters = new Set<Waiter>();
  const visits: string[] = [];
  let request: SignInRequest | undefined;
  /** Whether a person has the page, so that it is worth waiting for them. */
  let isShown = false;
  let isShowing = false;

  /** Whether the user of the client opens the page; undefined if the client cannot be asked. */
  const askClient = async ({ call }: Waiter, asked: SignInRequest): Promise<boolean | undefined> => {
    const elicitationId = randomUUID();
    visits.push(elicitationId);
    options.onShown("client", asked, call);
    const params = { mode: "url", elicitationId, url: urlOf(asked), message: messageOf(asked) };
    const answer = await call.ask("elicitation/create", params, over.signal).catch(() => undefined);
    return answer === undefined ? undefined : answer.action === "accept";
  };

  const show = async (waiter: Waiter | undefined): Promise<void> => {
    if (waiter === undefined || request === undefined || isShowing || stop.signal.aborted) return;
    isShowing = true;
    const isAccepted = showsPages(waiter.call) ? await askClient(waiter, request) : undefined;
    if (isAccepted === false) stop.abort(declined(server));
    else if (isAccepted) isShown = true;
    else if (waiters.has(waiter) && !over.signal.aborted) {
      if (await openBrowser?.(urlOf(request))) {
        isShown = true;
        options.onShown("browser", request, waiter.call);
      } else waiter.fail(cannotBeShown);
    }
    isShowing = false;
    // A client that left without a response leaves it to the next.
    if (!isShown) void show(first());
  };
  const first = (): Waiter | undefined => [...waiters][0];

  const done = options
    .run(stop.signal, (shown) => {
      request = shown;
      void show(first());
    })
    .finally(() => over.abort(new DOMException("The sign-in is over.", "AbortError")));
  done.then(
    () => {
      for (const elicitationId of visits) options.onVisitCompleted(elicitationId, { elicitationId });
    },
    () => {},
  );

  return {
    join: (call) =>
      new Promise((resolve, reject) => {
        const leave = (): void => {
          waiters.delete(waiter);
          call.removeEventListener("abort", onCancel);
          if (waiters.size === 0 && !isShown) stop.abort(new DOMException("No call waits for it.", "AbortError"));
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
          const message = `Waiting until you have signed in to ${server}.`;
          call.notify("notifications/progress", { progressToken, progress: 0, message });
        }
        if (call.aborted) onCancel();
        else call.addEventListener("abort", onCancel);
        // Once more, because the page from before may be closed.
        if (isShown && options.mayShow() && waiters.has(waiter)) void show(waiter);
      }),
    get isOver() {
      return stop.signal.aborted || over.signal.aborted;
    },
    cancel: (reason) => stop.abort(reason),
  };
}

function urlOf({ way }: SignInRequest): string {
  return way.kind === "device" ? (way.completeUrl ?? way.url) : way.url;
}

function messageOf({ server, issuer, scopes, way }: SignInRequest): string {
  const code = way.kind === "device" ? ` Enter the code ${JSON.stringify(way.userCode)} there.` : "";
  // Each in quotes, because servers choose them: together they could read as a sentence of ours.
  const names = scopes.map((scope) => JSON.stringify(scope)).join(", ");
  const wanted = names === "" ? "" : ` Requested scopes: ${names}.`;
  return printableText(`Sign in to ${JSON.stringify(server)} with ${issuer}.${code}${wanted}`, 1000);
}

function declined(server: string): ToolServerError {
  const problem = `The sign-in to the server ${JSON.stringify(server)} was declined in the client.`;
  return new ToolServerError("SIGN_IN_FAILED", { problem, advice: "" });
}

function cancelled(server: string): ToolServerError {
  const problem = `The call was cancelled while it waited for the sign-in to the server ${JSON.stringify(server)}.`;
  return new ToolServerError("CALL_CANCELLED", { problem, advice: "" });
}

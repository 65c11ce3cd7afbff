import { randomUUID } from "node:crypto";
import { EventEmitter, on } from "node:events";
import { create } from "@bufbuild/protobuf";
import { parseUrl } from "@wirescope/channelz/internal";
import type { Ask, OAuthLogin } from "@wirescope/tool-server/auth";
import {
  SignInNoticeSchema,
  type SignInRequest,
  type SignInResponse,
  SignInResponseSchema,
  SignInWay,
} from "../gen/wirescope/v1/admin_pb.js";
import { promptToMessage, signInStepToMessage } from "./messages/sign-in-message.js";

export interface SignInStreamOptions {
  readonly request: SignInRequest;
  readonly login: OAuthLogin;
  /** Where a prompt of this stream is put while it takes a pasted address, by its id. */
  readonly pasting: Map<string, (address: string) => void>;
  /** The page on which the user started it. */
  readonly returnTo: string | undefined;
  readonly signal: AbortSignal;
}

type SignInEvent = SignInResponse["event"];

const ways = {
  [SignInWay.UNSPECIFIED]: undefined,
  [SignInWay.BROWSER]: "browser",
  [SignInWay.DEVICE]: "device",
} as const;

/** Yields what the user has to do, until the sign-in has ended; throws its failure. The signal cancels it. */
export async function* signInStream(options: SignInStreamOptions): AsyncGenerator<SignInResponse> {
  const { request, login, returnTo, signal } = options;
  const emitter = new EventEmitter();
  const events = on(emitter, "event", { close: ["end"] });
  const ask = askByStream(options, (event) => emitter.emit("event", event));
  const way = ways[request.way as keyof typeof ways];
  const obtained = login.obtainToken(ask, { way, scopes: request.scopes, returnTo }, signal);
  obtained.catch(() => {}).finally(() => emitter.emit("end"));
  for await (const [event] of events) yield create(SignInResponseSchema, { event });
  await obtained;
}

function askByStream({ request, pasting }: SignInStreamOptions, report: (event: SignInEvent) => void): Ask {
  return {
    show(prompt, signal) {
      const id = randomUUID();
      report({ case: "prompt", value: promptToMessage(id, prompt) });
      return new Promise((resolve) => {
        pasting.set(id, resolve);
        signal.addEventListener("abort", () => pasting.delete(id), { once: true });
      });
    },
    // Without confirmation it fails, and the failure says what to confirm.
    confirm: async (question) =>
      question.kind === "issuer"
        ? question.to === request.confirmedIssuer
        : question.origin === request.confirmedOrigin,
    onEvent(event) {
      if (event.kind === "waiting") report(waiting);
      if (event.kind === "callback-rejected")
        report({ case: "notice", value: create(SignInNoticeSchema, { message: event.text }) });
      if (event.kind === "request" && request.withSteps)
        report({ case: "step", value: signInStepToMessage(event.step) });
    },
  };
}

const waiting: SignInEvent = create(SignInResponseSchema, {
  event: {
    case: "waiting",
    value: { message: "A sign-in to this server is in progress elsewhere. Waiting for it." },
  },
}).event;

/** A URL on the origin of the calling page, which the guard has checked; undefined if it is on another origin or has no origin. */
export function returnAddress(origin: string | null, path: string): string | undefined {
  if (origin === null || !path.startsWith("/") || path.length > 500) return undefined;
  const address = parseUrl(path, origin);
  return address?.origin === origin ? address.href : undefined;
}

import { create } from "@bufbuild/protobuf";
import { parseUrl } from "@wirescope/channelz/internal";
import type { OAuthSession } from "@wirescope/tool-server/auth";
import {
  SignInNoticeSchema,
  type SignInRequest,
  type SignInResponse,
  SignInResponseSchema,
  SignInWay,
} from "../gen/wirescope/v1/admin_pb.js";
import type { SignIns } from "../servers/sign-ins.js";
import { startFollowedRun } from "./followed-run.js";
import { promptToMessage, signInStepToMessage } from "./messages/sign-in-message.js";

export interface SignInStreamOptions {
  readonly request: SignInRequest;
  readonly session: OAuthSession;
  readonly signIns: SignIns;
  /** The page on which the user started it. */
  readonly returnTo: string | undefined;
  readonly signal: AbortSignal;
}

const ways = {
  [SignInWay.UNSPECIFIED]: undefined,
  [SignInWay.BROWSER]: "browser",
  [SignInWay.DEVICE]: "device",
} as const;

/** Yields what the user has to do, until the sign-in has ended; throws its failure. The signal cancels it. */
export async function* signInStream(options: SignInStreamOptions): AsyncGenerator<SignInResponse> {
  const { request, session, signIns, returnTo, signal } = options;
  const run = startFollowedRun<SignInResponse["event"], void>((report) =>
    signIns.run(request.server, session, {
      way: ways[request.way as keyof typeof ways],
      scopes: request.scopes,
      confirmedIssuer: request.confirmedIssuer,
      confirmedOrigin: request.confirmedOrigin,
      returnTo,
      signal,
      onShown: (shown) => report({ case: "prompt", value: promptToMessage(shown) }),
      onWaiting: () => report(waiting),
      onNotice: (message) => report({ case: "notice", value: create(SignInNoticeSchema, { message }) }),
      onStep(step) {
        if (request.withSteps) report({ case: "step", value: signInStepToMessage(step) });
      },
    }),
  );
  for await (const event of run.follow(signal)) yield create(SignInResponseSchema, { event });
}

const waiting: SignInResponse["event"] = create(SignInResponseSchema, {
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
